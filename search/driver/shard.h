// One node's share of a model's shapes, where several nodes tune them together.
#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <string>
#include <vector>

#include "search/driver/task.h"
#include "search/measure/peak_run.h"

namespace wavetune::search {

/// Part `index` of `count`, counted from 1.
struct Shard {
  int index = 1;
  int count = 1;
};

/// "2/8". Throws Error usage for anything else, and for an index that is not from 1 to the count.
Shard parse_shard(const std::string& text);

/// --shard, for a command that tunes.
void add_shard_option(boost::program_options::options_description& options);
std::optional<Shard> read_shard(const boost::program_options::variables_map& values);

/// The problems of a shard. Each problem is in exactly one; which one follows from the list of problems and weights
/// alone, in whatever order it comes. The weights must not come from a measurement: nodes would disagree.
///
/// What a problem costs to tune is taken as an equal part (each gets its first trials) and a part by weight (the rest
/// of the time), half and half. The costliest goes first to the shard that has least (Graham's LPT rule, SIAM J. Appl.
/// Math. 17(2), 1969: the fullest shard has at most 4/3 of what the best partition's fullest has).
std::vector<db::Problem> problems_of(const Shard& shard, const std::vector<TuneTask>& tasks);

/// Those of `tasks` whose problem is one of `problems`.
std::vector<TuneTask> only(std::vector<TuneTask> tasks, const std::vector<db::Problem>& problems);

/// Peak rates that weights for a partition are computed with: those of a data sheet, the same on every node.
measure::DevicePeak shard_peak();

}  // namespace wavetune::search
