// A chosen tensor-parallel x data-parallel layout, with the table that it was chosen from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wavetune::db {

enum class Objective {
  throughput,  ///< generated tokens of the node; of a simulated load: at the highest rate that keeps the TTFT limit
  latency,     ///< of a single stream
  cost,        ///< of a million generated tokens, at the price of a device's hour
};
std::string_view to_string(Objective objective);
std::optional<Objective> objective_from_string(std::string_view word);

/// What a candidate gives under one load, as simulated.
struct LoadPoint {
  double rate = 0;  ///< requests a second that arrive; 0: closed loops of `clients`
  int clients = 0;
  double tokens_per_s = 0;  ///< generated, node total
  double ttft_p50_s = 0;
  double ttft_p95_s = 0;
  double tpot_ms = 0;  ///< median over requests
  double success = 0;  ///< share of the requests whose first token came within the limit
};

/// One candidate's costs. Times in microseconds.
struct LayoutRow {
  int tp = 1;
  int dp = 1;
  bool fits = true;
  std::string reason;          ///< why it does not fit, or a remark
  double decode_step_us = 0;   ///< one decode step of one replica at `decode_batch` sequences
  double prefill_step_us = 0;  ///< one prefill chunk of `prefill_tokens`
  int decode_batch = 0;
  int prefill_tokens = 0;
  double all_reduce_us = 0;        ///< part of decode_step_us spent in collectives
  double decode_tokens_per_s = 0;  ///< node total: dp replicas
  double prefill_tokens_per_s = 0;
  double single_stream_tokens_per_s = 0;
  double score = 0;           ///< in the objective's unit (tokens/s), larger is better
  double measured_share = 0;  ///< part of the step time that comes from measured operators; the rest is estimated
  std::vector<std::string> estimated;  ///< problem keys costed by roofline because nothing was measured
  double memory_bytes_per_device = 0;

  // Of a simulated load; empty and 0 where the layout was chosen from step times alone.
  std::vector<LoadPoint> load;
  double knee_rate = 0;               ///< highest rate (requests a second) at which TTFT p95 keeps the limit
  double knee_tokens_per_s = 0;       ///< there
  double saturated_tokens_per_s = 0;  ///< with more clients than the cache has room for
  double published_share = 0;         ///< of the step time: other implementations' published times
  double cache_tokens = 0;            ///< of one replica
};

/// What was chosen for a model on a set of devices.
struct Layout {
  std::string model_id;  ///< content hash of the model's config
  std::string model_name;
  int devices = 1;
  Objective objective = Objective::throughput;
  int tp = 1;
  int dp = 1;
  std::vector<LayoutRow> table;  ///< every candidate, the winner included
  std::string created_at;        ///< filled by Database::put_layout when empty
};

}  // namespace wavetune::db
