#include "search/layout/plan.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "db/base/error.h"
#include "search/layout/load_sweep.h"

namespace wavetune::search {
namespace {

constexpr double usable_memory = 0.9;  // the rest: code objects, graphs, allocator slack, the driver
constexpr double bytes_in_gb = 1e9;
constexpr double us_in_s = 1e6;

struct Room {
  double bytes = 0;         ///< of one device, cache included
  double cache_tokens = 0;  ///< of one replica
  std::string reason;       ///< why it does not fit
};

Room room_of(const model::Program& program, const Node& node, const PlanOptions& options) {
  const auto sequence = static_cast<double>(options.traffic.input + options.traffic.output);
  const model::StepShape largest{options.step_tokens, options.max_sequences,
                                 options.traffic.input + options.traffic.output, 1};
  const double drafter = options.speculation.draft_tokens > 0 ? mtp_weight_bytes(program) : 0;
  const double fixed =
      served_weight_bytes(program, options.formats) + drafter + static_cast<double>(program.activation_bytes(largest));
  const double usable = usable_memory * static_cast<double>(node.memory_bytes);
  const double token = served_cache_bytes_per_token(program, options.formats);
  Room room;
  const double most = static_cast<double>(options.max_sequences) * sequence;
  room.cache_tokens = std::clamp(std::floor((usable - fixed) / token), 0.0, most);
  room.bytes = fixed + room.cache_tokens * token;
  if (room.cache_tokens < sequence) {
    room.bytes = fixed + sequence * token;
    room.reason = fmt::format("needs {:.1f} GB on a device for one sequence, {:.1f} GB are usable",
                              room.bytes / bytes_in_gb, usable / bytes_in_gb);
  }
  return room;
}

class LayoutCosting {
 public:
  LayoutCosting(const Node& node, const PlanOptions& options, const CandidateLayout& candidate,
                const LayoutCosts& costs)
      : options_(options),
        clock_(*candidate.program, options.formats, costs.costs,
               {options.speculation.draft_tokens, costs.gap_us, costs.context}),
        room_(room_of(*candidate.program, node, options)) {
    row_.tp = candidate.tp;
    row_.dp = candidate.dp;
    row_.memory_bytes_per_device = room_.bytes;
    row_.cache_tokens = room_.cache_tokens;
    server_.clock = &clock_;
    server_.ttft_limit_s = options.ttft_limit_s;
    server_.options.replicas = candidate.dp;
    server_.options.speculation = options.speculation;
    server_.options.scheduler = {options.step_tokens, options.max_sequences, options.page_size,
                                 static_cast<std::int64_t>(room_.cache_tokens) / options.page_size};
  }

  db::LayoutRow row() {
    if (!room_.reason.empty()) {
      row_.fits = false;
      row_.reason = room_.reason;
      return row_;
    }
    steps();
    single_stream();
    options_.traffic.clients.empty() ? open_load() : closed_loads();
    row_.score = score();
    const std::set<std::string>& estimated = clock_.estimated();
    row_.estimated.assign(estimated.begin(), estimated.end());
    return row_;
  }

  std::vector<db::LoadPoint> loads(const Traffic& traffic) {
    std::vector<db::LoadPoint> points;
    for (const double rate : traffic.rates) points.push_back(run_at_rate(server_, traffic, rate).point);
    for (const int clients : traffic.clients) points.push_back(run_with_clients(server_, traffic, clients).point);
    return points;
  }

 private:
  /// One decoding sequence in the middle of its answer, and a full chunk of a prompt.
  void steps() {
    const Traffic& traffic = options_.traffic;
    const auto middle = static_cast<double>(traffic.input) + static_cast<double>(traffic.output) / 2;
    const StepTime decode = clock_.time({1, 0, 0, middle});
    const std::int64_t chunk = std::min(options_.step_tokens, traffic.input);
    const StepTime prefill = clock_.time({0, chunk, 1, static_cast<double>(traffic.input) / 2});
    row_.decode_batch = 1;
    row_.decode_step_us = decode.us;
    row_.all_reduce_us = decode.collectives_us;
    row_.decode_tokens_per_s = row_.dp * us_in_s / decode.us;
    row_.prefill_tokens = static_cast<int>(chunk);
    row_.prefill_step_us = prefill.us;
    row_.prefill_tokens_per_s = row_.dp * static_cast<double>(chunk) * us_in_s / prefill.us;
  }

  void single_stream() {
    const LoadResult alone = run_with_clients(server_, options_.traffic, 1);
    row_.single_stream_tokens_per_s = alone.point.tpot_ms > 0 ? 1e3 / alone.point.tpot_ms : 0;
    keep(alone);
    if (options_.objective == db::Objective::latency) keep_shares(alone.run.spent);
  }

  void closed_loads() {
    for (const int clients : options_.traffic.clients) {
      if (clients == 1) continue;  // known already
      const LoadResult result = run_with_clients(server_, options_.traffic, clients);
      keep(result);
      if (options_.objective != db::Objective::latency) keep_shares(result.run.spent);
    }
    const auto most = std::ranges::max_element(row_.load, {}, &db::LoadPoint::clients);
    row_.saturated_tokens_per_s = most->tokens_per_s;
    row_.knee_tokens_per_s = most->tokens_per_s;
  }

  void open_load() {
    const auto sequences = room_.cache_tokens / static_cast<double>(options_.traffic.input + options_.traffic.output);
    const int saturating =
        row_.dp * static_cast<int>(std::clamp(std::ceil(sequences), 1.0, static_cast<double>(options_.max_sequences)));
    const Knee knee = find_knee(server_, options_.traffic, saturating);
    row_.saturated_tokens_per_s = knee.saturated_tokens_per_s;
    row_.knee_rate = knee.at.point.rate;
    row_.knee_tokens_per_s = knee.at.point.tokens_per_s;
    if (options_.objective != db::Objective::latency) keep_shares(knee.at.run.spent);
    std::vector<double> rates = options_.traffic.rates;
    if (rates.empty()) {
      for (const double share : {0.25, 0.5, 0.75, 0.9}) rates.push_back(share * row_.knee_rate);
    }

    for (const double rate : rates) {
      if (rate > 0) keep(run_at_rate(server_, options_.traffic, rate));
    }
    if (row_.knee_rate > 0) keep(knee.at);
  }

  void keep(const LoadResult& result) { row_.load.push_back(result.point); }

  void keep_shares(const StepTime& spent) {
    if (!(spent.us > 0)) return;
    row_.measured_share = spent.by_source[static_cast<std::size_t>(CostSource::measured)] / spent.us;
    row_.published_share = spent.by_source[static_cast<std::size_t>(CostSource::published)] / spent.us;
  }

  double score() const {
    if (options_.objective == db::Objective::latency) return row_.single_stream_tokens_per_s;
    const double tokens_per_s = row_.knee_tokens_per_s;
    if (options_.objective == db::Objective::throughput) return tokens_per_s;
    return tokens_per_s > 0 ? 1e6 / cost_of_million(options_.gpu_hour, row_.tp * row_.dp, tokens_per_s) : 0;
  }

  const PlanOptions& options_;
  StepClock clock_;
  Room room_;
  SimulatedServer server_;
  db::LayoutRow row_;
};

std::string reason_of(const db::LayoutRow& best, const db::LayoutRow* second, const PlanOptions& options) {
  std::string what;
  if (options.objective == db::Objective::latency) {
    what = fmt::format("{:.1f} tok/s in a single stream", best.single_stream_tokens_per_s);
  } else if (options.traffic.clients.empty()) {
    what = fmt::format("{:.0f} tok/s at {:.2f} requests/s, the highest rate with TTFT p95 within {} s",
                       best.knee_tokens_per_s, best.knee_rate, options.ttft_limit_s);
  } else {
    what = fmt::format("{:.0f} tok/s at the most clients", best.knee_tokens_per_s);
  }
  if (second == nullptr || !(second->score > 0)) return what + "; no other layout fits or keeps the limit";
  return what +
         fmt::format(", {:+.0f} % over tp {} x dp {}", 100 * (best.score / second->score - 1), second->tp, second->dp);
}

}  // namespace

std::vector<db::LoadPoint> simulate_loads(const Node& node, const PlanOptions& options,
                                          const CandidateLayout& candidate, const LayoutCosts& costs,
                                          const Traffic& traffic) {
  return LayoutCosting(node, options, candidate, costs).loads(traffic);
}

double cost_of_million(double gpu_hour, int devices, double tokens_per_s) {
  return gpu_hour * devices / 3600 / tokens_per_s * 1e6;
}

std::vector<CandidateLayout> planned_candidates(const PlanOptions& options, const model::ModelConfig& config,
                                                int devices, const std::vector<int>& only_tp) {
  Workload workload;
  workload.concurrency = static_cast<int>(options.max_sequences);
  workload.max_context = options.traffic.input + options.traffic.output;
  workload.page_size = static_cast<int>(options.page_size);
  return candidate_layouts(config, devices, only_tp, workload);
}

Plan plan_layout(const model::ModelConfig& config, const Node& node, const PlanOptions& options,
                 const std::vector<CandidateLayout>& candidates, const CostsOfLayout& costs_of) {
  Plan plan;
  plan.layout.model_id = config.id;
  plan.layout.model_name = config.name;
  plan.layout.devices = node.devices;
  plan.layout.objective = options.objective;
  for (const CandidateLayout& candidate : candidates) {
    if (candidate.program) {
      spdlog::debug("simulating tp {} x dp {}", candidate.tp, candidate.dp);
      const std::shared_ptr<const LayoutCosts> costs = costs_of(candidate);
      plan.layout.table.push_back(LayoutCosting(node, options, candidate, *costs).row());
      continue;
    }
    db::LayoutRow row;
    row.tp = candidate.tp;
    row.dp = candidate.dp;
    row.fits = false;
    row.reason = candidate.reason;
    plan.layout.table.push_back(row);
  }
  const db::LayoutRow *best = nullptr, *second = nullptr;
  for (const db::LayoutRow& row : plan.layout.table) {
    if (!row.fits) continue;
    if (best == nullptr || row.score > best->score) {
      second = std::exchange(best, &row);
    } else if (second == nullptr || row.score > second->score) {
      second = &row;
    }
  }
  if (best == nullptr) {
    std::string reasons;
    for (const db::LayoutRow& row : plan.layout.table) reasons += fmt::format("; tp {}: {}", row.tp, row.reason);
    fail(ErrorKind::usage, "{} fits on {} x {} in no layout{}. Use more or larger devices, or shorter sequences",
         config.name, node.devices, node.name, reasons);
  }
  plan.layout.tp = best->tp;
  plan.layout.dp = best->dp;
  plan.reason = reason_of(*best, second, options);
  return plan;
}

}  // namespace wavetune::search
