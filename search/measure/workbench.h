// What happens inside the measuring process: configurations are loaded, verified against the reference and timed, over
// operands that stay in device memory from one to the next.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "runtime/hip/provider.h"
#include "search/measure/candidate.h"
#include "search/measure/clock_watch.h"
#include "search/measure/device_checks.h"
#include "search/measure/messages.h"
#include "search/measure/operand_pool.h"
#include "search/measure/prepared_problem.h"

namespace wavetune::measure {

/// On one device, which nothing else must use while it times.
class Workbench {
 public:
  /// `provider` must outlive it. Throws Error device when the device does not do a simple copy right.
  Workbench(const hip::Provider& provider, int device);

  /// Code of device_checks_source(): inputs and guard bands are then looked at on the device.
  void use_checks(std::span<const std::byte> code);
  void set_problem(std::shared_ptr<const PreparedProblem> prepared);
  const PreparedProblem* problem() const { return prepared_.get(); }

  /// Neither throws for what kernels do.
  MeasureResult measure(const MeasureRequest& request);
  /// Configurations that were right when they were measured alone, timed in turns (time_in_turns). One result each.
  std::vector<MeasureResult> contest(const ContestRequest& request);

  /// A kernel failed on the device: this process must not measure any more.
  bool device_lost() const { return device_lost_; }

 private:
  class Busy;

  bool device_works();
  bool is_collective() const;
  std::unique_ptr<OperandPool> make_pool() const;
  std::unique_ptr<Candidate> load(const MeasureRequest& request);
  double verify(Candidate& candidate, int warm_up, MeasureResult& result);
  TimedKernel timed(Candidate& candidate);
  double run(Candidate& candidate, int count);

  const hip::Provider& provider_;
  int device_;
  ClockWatch watch_;
  std::unique_ptr<DeviceChecks> checks_;
  std::shared_ptr<const PreparedProblem> prepared_;  ///< where the pool finds it
  std::unique_ptr<OperandPool> pool_;
  bool device_lost_ = false;
  double busy_us_ = 0;  ///< of the request in work
  std::chrono::steady_clock::time_point last_work_{};
};

/// Bytes that operands are rotated over so that weights come from memory, as in serving, where a whole model passes
/// between two uses.
std::size_t rotate_bytes(const hip::Provider& provider, int device);

}  // namespace wavetune::measure
