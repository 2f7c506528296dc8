// From simulated runs to what a node gives under load: rows of rate, tokens/s and latencies, and the knee.
#pragma once

#include <vector>

#include "db/layout.h"
#include "search/layout/simulator.h"

namespace wavetune::search {

/// One layout's server, ready to be put under loads.
struct SimulatedServer {
  StepClock* clock = nullptr;
  SimulationOptions options;  ///< `clients` is set by the functions below
  double ttft_limit_s = 5;
};

/// What a run gave, over its middle: the first fifth of the requests warms the server up, and what is generated after
/// the last arrival does not count. TTFT and TPOT over the requests that arrived in between.
db::LoadPoint load_point(const SimulatedRun& run, double ttft_limit_s);

struct LoadResult {
  db::LoadPoint point;
  SimulatedRun run;
};
/// Open arrivals at a rate for about five minutes (300 to 2000 requests).
LoadResult run_at_rate(const SimulatedServer& server, const Traffic& traffic, double requests_per_s);
/// Closed loops.
LoadResult run_with_clients(const SimulatedServer& server, const Traffic& traffic, int clients);

struct Knee {
  LoadResult at;  ///< the highest rate at which TTFT p95 keeps the limit; rate 0 when none does
  double saturated_tokens_per_s = 0;
};
/// Bisects (to 2 %) below what `saturating_clients` closed loops reach.
Knee find_knee(const SimulatedServer& server, const Traffic& traffic, int saturating_clients);

}  // namespace wavetune::search
