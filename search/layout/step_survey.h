// What the server's steps take on the devices of this machine, with all of them busy: the operator times that a plan
// rests on here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "model/config.h"
#include "runtime/hip/provider.h"
#include "search/layout/plan.h"

namespace wavetune::search {

struct SurveyOptions {
  std::filesystem::path model_directory;  ///< with weights
  std::optional<std::filesystem::path> database;
  std::filesystem::path compile_worker;  ///< executable that compiles; empty: this one
  int repeats = 5;                       ///< of each step; the median counts
};

/// Runs steps of the server's executor on `dp` groups of `tp` devices at the same time, all groups the same steps in
/// lockstep: decoding batches of 1, 2, 4, ... sequences and steps filled up with prompts, at the context that the
/// traffic's sequences have in the middle of their answers (one of them at the end of it). Of each step the whole is
/// timed, and then again with events around each launch: the operators' times, which for collectives include the wait
/// for the slowest rank. What a step takes beyond its operators is divided among its launches (gap_us). Where the
/// events themselves make the step longer, the operators' times are scaled to fit into the step without them.
///
/// Times are in the order of the first group's first rank. Throws what the engine throws when it starts.
LayoutCosts survey_steps(const SurveyOptions& options, const std::shared_ptr<const hip::Provider>& provider,
                         const model::ModelConfig& config, int tp, int dp, const PlanOptions& plan);

}  // namespace wavetune::search
