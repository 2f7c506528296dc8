#include "search/layout/load_sweep.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace wavetune::search {
namespace {

constexpr double us_in_s = 1e6;

/// Linear between the two nearest; 0 of nothing.
double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

bool keeps(const db::LoadPoint& point, double limit_s) { return point.ttft_p95_s <= limit_s; }

}  // namespace

db::LoadPoint load_point(const SimulatedRun& run, double ttft_limit_s) {
  db::LoadPoint point;
  const std::size_t warm = run.requests.size() / 5;
  const double begin = run.requests[warm].arrival, end = run.requests.back().arrival;
  std::vector<double> ttft, tpot;
  std::size_t in_time = 0;
  for (std::size_t i = warm; i < run.requests.size(); ++i) {
    const ServedRequest& request = run.requests[i];
    ttft.push_back((request.first_token - request.arrival) / us_in_s);
    if (ttft.back() <= ttft_limit_s) ++in_time;
    if (request.output > 1)
      tpot.push_back((request.finish - request.first_token) / static_cast<double>(request.output - 1) / 1e3);
  }
  double tokens = 0;
  for (const auto& [when, count] : run.tokens) {
    if (when >= begin && when < end) tokens += count;
  }
  point.tokens_per_s = end > begin ? tokens / (end - begin) * us_in_s : 0;
  point.success = static_cast<double>(in_time) / static_cast<double>(ttft.size());
  point.ttft_p50_s = percentile(ttft, 0.5);
  point.ttft_p95_s = percentile(std::move(ttft), 0.95);
  point.tpot_ms = percentile(std::move(tpot), 0.5);
  return point;
}

LoadResult run_at_rate(const SimulatedServer& server, const Traffic& traffic, double requests_per_s) {
  constexpr double seconds = 300;
  const auto count = static_cast<std::size_t>(std::clamp(requests_per_s * seconds, 300.0, 2000.0));
  LoadResult result;
  result.run = simulate(make_trace(traffic, requests_per_s, count), *server.clock, server.options);
  result.point = load_point(result.run, server.ttft_limit_s);
  result.point.rate = requests_per_s;
  return result;
}

LoadResult run_with_clients(const SimulatedServer& server, const Traffic& traffic, int clients) {
  const auto count = static_cast<std::size_t>(std::max(20, 5 * clients));
  SimulationOptions options = server.options;
  options.clients = clients;
  LoadResult result;
  result.run = simulate(make_trace(traffic, 0, count), *server.clock, options);
  result.point = load_point(result.run, server.ttft_limit_s);
  result.point.clients = clients;
  return result;
}

Knee find_knee(const SimulatedServer& server, const Traffic& traffic, int saturating_clients) {
  Knee knee;
  knee.saturated_tokens_per_s = run_with_clients(server, traffic, saturating_clients).point.tokens_per_s;
  const double mean_output = static_cast<double>(traffic.output) * (1 - traffic.spread / 2);
  double good = 0, bad = 1.2 * knee.saturated_tokens_per_s / mean_output;
  constexpr double precision = 0.02;
  const double least = bad / 256;
  while (bad - good > precision * bad && bad > least) {
    const double rate = good > 0 ? (good + bad) / 2 : bad / 2;
    LoadResult result = run_at_rate(server, traffic, rate);
    if (!keeps(result.point, server.ttft_limit_s)) {
      bad = rate;
      continue;
    }
    good = rate;
    knee.at = std::move(result);
  }
  return knee;
}

}  // namespace wavetune::search
