// From a model folder, a tuning database and a device to a running engine: what `serve` calls.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/config.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/executor.h"
#include "runtime/jit/compile_service.h"
#include "runtime/kernels/coverage.h"

namespace wavetune::engine {

struct EngineOptions {
  std::filesystem::path model_directory;
  std::optional<std::filesystem::path>
      database;                        ///< or a bundle or JSON export; none: the device's tuned set, if there is one
  std::string device = "auto";         ///< as `--device`
  int tp = 0;                          ///< 0: from the stored layout, else 1
  int dp = 0;                          ///< 0: from the stored layout, else devices / tp
  std::int64_t max_context = 0;        ///< tokens of one sequence; 0: min(model's limit, 8192)
  std::int64_t max_sequences = 32;     ///< sequences in a replica's batch
  std::int64_t max_step_tokens = 256;  ///< token budget of one step (decode tokens + prefill chunks)
  std::int64_t cache_tokens = 0;       ///< capacity of a replica's cache; 0: from free device memory
  std::int64_t page_size = 16;         ///< cache tokens in a page
  Graphs graphs = Graphs::automatic;   ///< whether steps are replayed from graphs
  bool require_tuned = false;          ///< refuse to start when a shape would run on a default configuration
  jit::CompileOptions compiler;
};

/// Where the layout came from.
enum class LayoutSource {
  stored,        ///< the database's newest layout for this model and number of devices
  command_line,  ///< --tp or --dp
  fallback,      ///< nothing stored: tp 1, one replica a device
};

struct LayoutInfo {
  int tp = 1;
  int dp = 1;
  int devices = 1;  ///< shown by the provider; tp x dp may use fewer
  LayoutSource source = LayoutSource::fallback;
  /// "tp 2 x dp 1 on 2 devices (stored 2026-09-01T10:00:00Z, objective throughput)".
  std::string description;
};

struct CreatedEngine {
  std::unique_ptr<Engine> engine;
  model::ModelConfig config;
  LayoutInfo layout;
  std::string tuning;             ///< where winners come from; empty when from nowhere
  kernels::Coverage coverage;     ///< over the shapes that this engine can run
  std::string device_name;        ///< of the first device
  std::int64_t cache_tokens = 0;  ///< of one replica
  LaunchCounts decode_launches;   ///< of a step in which one sequence decodes one token
  bool graphs = false;            ///< steps are replayed from graphs
};

/// Loads weights, compiles what is missing (and logs so), and starts one thread for each replica. Throws Error: usage
/// (tp that does not divide, tp x dp > devices), not_found (model folder, database, device), bad_data, incompatible,
/// device, and, with `require_tuned`, incompatible with the list of untuned shapes.
CreatedEngine create_engine(const EngineOptions& options);

}  // namespace wavetune::engine
