#include "search/report/importance.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace wavetune::report {
namespace {

struct Group {
  double sum = 0;
  std::size_t count = 0;
};

}  // namespace

std::vector<ParameterShare> main_effects(const std::vector<std::pair<db::Config, double>>& times_us) {
  if (times_us.size() < fewest_trials) return {};
  std::vector<double> logs;
  double mean = 0;
  std::map<std::string, std::map<std::int64_t, Group>, std::less<>> groups;
  for (const auto& [config, time_us] : times_us) {
    const double value = std::log(time_us);
    logs.push_back(value);
    mean += value;
    for (const auto& [name, choice] : config) {
      Group& group = groups[name][choice];
      group.sum += value;
      ++group.count;
    }
  }
  const auto n = static_cast<double>(logs.size());
  mean /= n;
  double total = 0;
  for (const double value : logs) total += (value - mean) * (value - mean);
  // Rounding of equal times is no variance.
  if (!(total > 1e-12 * n)) return {};
  std::vector<ParameterShare> shares;
  for (const auto& [name, of_name] : groups) {
    if (of_name.size() < 2) continue;
    double between = 0;
    for (const auto& [choice, group] : of_name) {
      const double distance = group.sum / static_cast<double>(group.count) - mean;
      between += static_cast<double>(group.count) * distance * distance;
    }
    const auto k = static_cast<double>(of_name.size());
    const double within = n > k ? std::max(0.0, total - between) / (n - k) : total;
    shares.push_back({name, std::clamp((between - (k - 1) * within) / total, 0.0, 1.0)});
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const ParameterShare& a, const ParameterShare& b) { return a.share > b.share; });
  return shares;
}

}  // namespace wavetune::report
