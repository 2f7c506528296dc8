// One configuration of a problem, compiled and loaded, ready to be run and timed.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/trial.h"
#include "runtime/hip/provider.h"
#include "search/measure/operand_pool.h"

namespace wavetune::measure {

/// Every method throws Error device when a HIP call fails.
class Candidate {
 public:
  virtual ~Candidate() = default;

  /// Why the device cannot run it (block too large, too much LDS), or nothing.
  virtual std::optional<std::string> over_limits() const = 0;
  /// What the driver says of the loaded functions.
  virtual db::Resources resources() const = 0;

  /// Gives the device one run of all launches, over poisoned outputs; does not wait.
  virtual void enqueue() = 0;
  virtual void wait() = 0;

  /// Sets of operands that runs walk through in turn: a number of runs at a time that this divides begins with the
  /// first.
  virtual int sets() const { return 1; }
  /// Gives the device `count` runs back to back; does not wait.
  virtual void begin_timed(int count) = 0;
  /// Waits for them; microseconds of all together, on the device's clock.
  virtual double end_timed() = 0;
  double timed(int count) {
    begin_timed(count);
    return end_timed();
  }

  /// What the runs so far changed that they must not (OperandPool::damage), or nothing.
  virtual std::optional<std::string> damage() = 0;
  /// Outputs and inouts, once for each place where the result exists (each rank of a collective); inputs are empty.
  virtual std::vector<std::vector<templates::HostTensor>> results() = 0;
};

/// On pool.device(), over the pool's operands, which must be arranged for `config` (OperandPool::arrange_for) and stay
/// so. `pool` must outlive it.
std::unique_ptr<Candidate> load_candidate(const hip::Provider& provider, OperandPool& pool, const db::Config& config,
                                          std::span<const std::byte> code);

/// `all_reduce` as it is served: rank r's partial result and output on device r, all ranks launch after a meeting of
/// their streams. Needs as many devices as the problem has ranks.
std::unique_ptr<Candidate> load_collective(const hip::Provider& provider, const PreparedProblem& prepared,
                                           const db::Config& config, std::span<const std::byte> code, bool guards);

/// The first launch that `limits` forbid, in words.
std::optional<std::string> over_limits(std::span<const templates::Launch> launches,
                                       const templates::DeviceLimits& limits);

}  // namespace wavetune::measure
