#include "search/driver/shard.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "db/base/error.h"
#include "search/offline/offline_tuner.h"

namespace wavetune::search {

namespace po = boost::program_options;

Shard parse_shard(const std::string& text) {
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto [slash, index_error] = std::from_chars(text.data(), end, shard.index);
  const bool has_slash = index_error == std::errc{} && slash != end && *slash == '/';
  const auto [rest, count_error] = std::from_chars(has_slash ? slash + 1 : end, end, shard.count);
  if (!has_slash || count_error != std::errc{} || rest != end) {
    fail(ErrorKind::usage, "--shard '{}' is not a shard; write for example 2/8: the second of eight", text);
  }
  if (shard.count < 1 || shard.index < 1 || shard.index > shard.count) {
    fail(ErrorKind::usage, "--shard {}: shards are counted from 1; of {} the last is {}/{}", text,
         std::max(1, shard.count), std::max(1, shard.count), std::max(1, shard.count));
  }
  return shard;
}

void add_shard_option(po::options_description& options) {
  options.add_options()("shard", po::value<std::string>(),
                        "i/n: tune this node's share of the shapes, the i-th of n; bring the databases together with "
                        "'wavetune merge' afterwards");
}

std::optional<Shard> read_shard(const po::variables_map& values) {
  if (values.count("shard") == 0) return std::nullopt;
  return parse_shard(values["shard"].as<std::string>());
}

std::vector<db::Problem> problems_of(const Shard& shard, const std::vector<TuneTask>& tasks) {
  double weights = 0;
  for (const TuneTask& task : tasks) weights += task.weight;
  std::vector<std::pair<double, const TuneTask*>> costs;
  for (const TuneTask& task : tasks) {
    const double share = weights > 0 ? task.weight / weights : 0;
    costs.emplace_back((1.0 / static_cast<double>(tasks.size()) + share) / 2, &task);
  }
  std::sort(costs.begin(), costs.end(), [](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first > b.first;
    return a.second->problem < b.second->problem;
  });
  std::vector<double> loads(static_cast<std::size_t>(shard.count), 0.0);
  std::vector<db::Problem> problems;
  for (const auto& [cost, task] : costs) {
    const auto least = std::min_element(loads.begin(), loads.end());
    *least += cost;
    if (least - loads.begin() == shard.index - 1) problems.push_back(task->problem);
  }
  return problems;
}

std::vector<TuneTask> only(std::vector<TuneTask> tasks, const std::vector<db::Problem>& problems) {
  const std::set<db::Problem> wanted(problems.begin(), problems.end());
  std::erase_if(tasks, [&wanted](const TuneTask& task) { return !wanted.contains(task.problem); });
  return tasks;
}

measure::DevicePeak shard_peak() { return data_sheet_peak("gfx950"); }

}  // namespace wavetune::search
