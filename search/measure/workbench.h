// What happens inside the measuring process: configurations are loaded, verified against the reference and timed, over
// operands that stay in device memory from one to the next.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "runtime/hip/provider.h"
#include "search/measure/candidate.h"
#include "search/measure/clock_watch.h"
#include "search/measure/device_checks.h"
#include "search/measure/messages.h"
#include "search/measure/problem_shelf.h"

namespace wavetune::measure {

/// On one device, which nothing else must use while it times.
class Workbench {
 public:
  /// `provider` must outlive it. Throws Error device when the device does not do a simple copy right.
  Workbench(const hip::Provider& provider, int device);

  /// Code of device_checks_source(): inputs, guard bands and outputs are then looked at on the device.
  void use_checks(std::span<const std::byte> code);
  /// Where the right answer of problems for set_problem() is to be computed.
  ReferenceOn reference_on() const { return checks_ ? ReferenceOn::device : ReferenceOn::host; }

  struct Selection {
    double busy_us = 0;  ///< in which the device had copies and kernels to work on
    std::string note;    ///< what a person should know; empty as a rule
  };
  Selection set_problem(std::shared_ptr<const PreparedProblem> prepared);
  const PreparedProblem* problem() const { return shelf_->problem(); }

  /// Neither throws for what kernels do.
  MeasureResult measure(const MeasureRequest& request);
  /// Configurations that were right when they were measured alone, timed in turns (time_in_turns). One result each.
  std::vector<MeasureResult> contest(const ContestRequest& request);

  /// Unloads what was measured last. Nobody has to wait for that who only wants to know its time: call it when the
  /// answer has been sent; otherwise the next request does it.
  void tidy_up() { candidate_.reset(); }

  /// A kernel failed on the device: this process must not measure any more.
  bool device_lost() const { return device_lost_; }

 private:
  class Busy;

  bool device_works();
  bool is_collective() const;
  std::unique_ptr<ProblemShelf> make_shelf() const;
  std::unique_ptr<Candidate> load(const MeasureRequest& request);
  std::optional<double> worst_on_device();
  std::optional<std::string> damage_by(Candidate& candidate);
  double verify(Candidate& candidate, int warm_up, MeasureResult& result);
  TimedKernel timed(Candidate& candidate);
  double run(Candidate& candidate, int count);

  const hip::Provider& provider_;
  int device_;
  ClockWatch watch_;
  std::unique_ptr<DeviceChecks> checks_;
  std::unique_ptr<ProblemShelf> shelf_;
  OperandPool* pool_ = nullptr;           ///< of the shelf, that the candidate in work runs over; null: it has its own
  std::unique_ptr<Candidate> candidate_;  ///< measured last
  bool device_lost_ = false;
  double busy_us_ = 0;  ///< of the request in work
  std::chrono::steady_clock::time_point last_work_{};
};

/// Bytes that operands are rotated over so that weights come from memory, as in serving, where a whole model passes
/// between two uses.
std::size_t rotate_bytes(const hip::Provider& provider, int device);

}  // namespace wavetune::measure
