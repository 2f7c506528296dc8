// The right answer of a problem in device memory, next to the outputs that are compared with it.
//
// What the host has computed is copied there. Of large products the host has computed a sample only: the device
// computes all of it with a plain kernel (Operator::reference_launch), which counts when it agrees with the sample.
// When it does not, the host computes everything after all.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "search/measure/operand_pool.h"

namespace wavetune::measure {

class Expectation {
 public:
  /// Nothing when the problem's outputs can only be compared on the host. `checks` must outlive it, and it belongs to
  /// the device that is current.
  static std::unique_ptr<Expectation> of(const hip::Api& api, DeviceChecks& checks,
                                         std::shared_ptr<const PreparedProblem> prepared);

  /// How the device's answer differs from the sample, or nothing.
  const std::optional<std::string>& disagreement() const { return disagreement_; }
  /// The remedy for that; takes minutes for the largest problems.
  void compute_on_host();

  /// The largest deviation of what lies in the first set of `pool`, in units of the tolerances, rounded to float. What
  /// was launched over the pool must have ended.
  double worst(const OperandPool& pool);
  /// For Operator::compare(): outputs and inouts, in operand order.
  std::vector<templates::HostTensor> on_host() const;

  std::size_t bytes() const;

 private:
  struct Output {
    std::size_t operand = 0;
    templates::Tolerance tolerance;
    hip::DeviceBuffer expected;
  };
  Expectation(const hip::Api& api, DeviceChecks& checks, std::shared_ptr<const PreparedProblem> prepared)
      : api_(api), checks_(checks), prepared_(std::move(prepared)) {}

  bool add_outputs();
  void copy_from(const std::vector<templates::HostTensor>& expected);
  void compute_on_device();
  std::optional<std::string> compare_with_sample() const;
  Output& output(std::size_t operand);
  templates::HostTensor download(const Output& output) const;

  const hip::Api& api_;
  DeviceChecks& checks_;
  std::shared_ptr<const PreparedProblem> prepared_;
  std::vector<Output> outputs_;
  std::optional<std::string> disagreement_;
};

}  // namespace wavetune::measure
