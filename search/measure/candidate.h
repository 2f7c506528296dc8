// One configuration of a problem, compiled and loaded, ready to be run and timed.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/trial.h"
#include "runtime/hip/provider.h"
#include "search/measure/prepared_problem.h"

namespace wavetune::measure {

/// Every method throws Error device when a HIP call fails.
class Candidate {
 public:
  virtual ~Candidate() = default;

  /// Why the device cannot run it (block too large, too much LDS), or nothing.
  virtual std::optional<std::string> over_limits() const = 0;
  /// What the driver says of the loaded functions.
  virtual db::Resources resources() const = 0;

  /// Inputs as prepared, outputs poisoned, guard bands in place.
  virtual void reset() = 0;
  /// Gives the device one run of all launches; does not wait.
  virtual void enqueue() = 0;
  virtual void wait() = 0;
  /// `count` runs back to back; microseconds of all together, on the device's clock.
  virtual double timed(int count) = 0;

  /// All operands, once for each place where the result exists (each rank of a collective).
  virtual std::vector<std::vector<templates::HostTensor>> results() const = 0;
  virtual std::optional<std::string> broken_guard() const = 0;
};

struct CandidateOptions {
  int device = 0;
  bool guards = true;
  /// Sets of operands that launches walk through in turn, so that all of them together are at least this large and a
  /// cache does not keep the weights from one launch to the next. 0: one set.
  std::size_t rotate_bytes = 0;
};

/// On one device.
std::unique_ptr<Candidate> load_candidate(const hip::Provider& provider, const PreparedProblem& prepared,
                                          const db::Config& config, std::span<const std::byte> code,
                                          const CandidateOptions& options);

/// `all_reduce` as it is served: rank r's partial result and output on device r, all ranks launch after a meeting of
/// their streams. Needs as many devices as the problem has ranks.
std::unique_ptr<Candidate> load_collective(const hip::Provider& provider, const PreparedProblem& prepared,
                                           const db::Config& config, std::span<const std::byte> code, bool guards);

/// The first launch that `limits` forbid, in words.
std::optional<std::string> over_limits(std::span<const templates::Launch> launches,
                                       const templates::DeviceLimits& limits);

}  // namespace wavetune::measure
