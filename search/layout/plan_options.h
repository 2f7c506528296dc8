// The command-line options of the layout planner.
#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

#include "search/layout/plan.h"

namespace wavetune::search {

/// --workload, --weights, --kv, --mtp, --ttft, --gpu-hour, --step-tokens, --max-sequences.
void add_plan_options(boost::program_options::options_description& options);

/// Throws Error usage naming the option. `published_attention`: attention is costed by published times, which are those
/// of FP8 caches, so that is the cache's format unless --kv says otherwise.
PlanOptions read_plan_options(const boost::program_options::variables_map& values, db::Objective objective,
                              bool published_attention);

/// The sentences that say what these options assume.
std::vector<std::string> assumptions_of(const PlanOptions& options, const CostTable& costs);

/// "0", "5" (drafts; accepted as published for GLM-5.2) or "3:0.8/0.6/0.4" (with the probability that at least so many
/// are accepted). Throws Error usage.
Speculation parse_speculation(const std::string& text);

}  // namespace wavetune::search
