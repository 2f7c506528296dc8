// A discrete-event simulation of the server: its own scheduler (engine::Scheduler) over a clock of step times.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/engine/scheduler.h"
#include "search/layout/step_clock.h"
#include "search/layout/traffic.h"

namespace wavetune::search {

/// How many of the drafted tokens a verification accepts.
struct Speculation {
  int draft_tokens = 0;            ///< 0: no speculation
  std::vector<double> acceptance;  ///< [i]: probability that at least i + 1 drafts are accepted; draft_tokens of them

  /// Accepted tokens a step, the target's own included.
  double mean_length() const;
};

struct SimulationOptions {
  int replicas = 1;
  engine::SchedulerOptions scheduler;  ///< of one replica
  Speculation speculation;
  std::uint64_t seed = 1;  ///< of accepted lengths
  /// Closed loop: requests beyond the first `clients` arrive when an earlier one is answered; 0: as the trace says.
  int clients = 0;
};

/// Times in microseconds since the start.
struct ServedRequest {
  double arrival = 0;
  double first_token = 0;
  double finish = 0;
  std::int64_t output = 0;
};

struct SimulatedRun {
  std::vector<ServedRequest> requests;        ///< in the trace's order
  std::vector<std::array<double, 2>> tokens;  ///< when, how many: every step's output
  StepTime spent;                             ///< over all steps of all replicas
  std::int64_t steps = 0;
  std::int64_t preemptions = 0;
};

/// Serves the whole trace. A request goes to the replica with the fewest outstanding tokens, as the server's do
/// (ReplicatedEngine). A preempted sequence computes its prompt again, cached part included. Throws Error usage when a
/// request does not fit into a replica's cache.
SimulatedRun simulate(const std::vector<TrafficRequest>& trace, StepClock& clock, const SimulationOptions& options);

}  // namespace wavetune::search
