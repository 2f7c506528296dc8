// A problem's operands in a device's memory, kept while its configurations are measured one after the other: what one
// configuration may have spoiled is made good by copies on the device.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/hip/provider.h"
#include "search/measure/device_checks.h"
#include "search/measure/prepared_problem.h"

namespace wavetune::measure {

/// Bytes before and after each operand that a kernel must leave alone. They hold NaN (as float32 and as bf16) and -1
/// (as i32), so that a kernel that reads past its operand spoils its result. None under AddressSanitizer, whose red
/// zones are better.
inline constexpr std::size_t guard_bytes = 1024;
/// All bits set is NaN in float64, float32, bf16, f16, e4m3fn and e8m0.
inline constexpr int guard_byte = 0xFF;

struct PoolOptions {
  int device = 0;
  bool guards = true;
  /// Sets of operands that launches walk through in turn, so that what all of them read together is at least this large
  /// and a cache does not keep the weights from one launch to the next. 0: one set.
  std::size_t rotate_bytes = 0;
  DeviceChecks* checks = nullptr;  ///< null: inputs and guard bands are looked at on the host
};

/// The first set is the one that results are taken from. Outputs of the others keep what launches left in them.
class OperandPool {
 public:
  /// `prepared` and options.checks must outlive it.
  OperandPool(const hip::Provider& provider, const PreparedProblem& prepared, const PoolOptions& options);

  /// The host's part of arrange_for(): puts operands in the order wanted and allocates memory.
  void lay_out(std::span<const db::Config> configs);
  /// Operands in the order in which the configurations read them, workspace for any of them, and outputs poisoned: NaN
  /// for float types, a pattern for integers. Done when it returns. All must read in the same order.
  void arrange_for(std::span<const db::Config> configs);
  void arrange_for(const db::Config& config) { arrange_for(std::span(&config, 1)); }

  std::size_t sets() const { return sets_; }
  std::vector<templates::View> views(std::size_t set) const;
  void* workspace() const;
  /// Of device memory.
  std::size_t bytes() const;
  int device() const { return options_.device; }
  const PreparedProblem& prepared() const { return prepared_; }

  /// What the launches did that they must not: which guard band was overwritten, which input of the first set was
  /// written to; or nothing. Waits for `stream`. After damage everything is put in place anew by the next
  /// arrange_for().
  std::optional<std::string> damage(hipStream_t stream);
  /// Outputs and inouts of the first set; inputs are empty tensors.
  std::vector<templates::HostTensor> results() const;

 private:
  /// A piece of memory between guard bands.
  struct Slot {
    std::size_t offset = 0;  ///< of the data in its buffer
    std::size_t bytes = 0;
  };

  void allocate();
  void fill_all();
  void poison();
  std::byte* data(std::size_t set, std::size_t operand) const;
  std::optional<std::string> damage_seen_by_device(hipStream_t stream);
  std::optional<std::string> damage_seen_by_host(hipStream_t stream) const;
  std::vector<const void*> bands() const;
  std::string band_name(std::size_t band) const;
  const templates::HostTensor* arranged_ahead(std::size_t operand) const;
  const templates::HostTensor& host(std::size_t operand) const;
  void fill(void* at, int byte, std::size_t bytes) const;

  const hip::Api& api_;
  const PreparedProblem& prepared_;
  PoolOptions options_;
  std::size_t guard_ = 0;

  std::vector<templates::Arrangement> arrangement_;  ///< of the operands now
  std::vector<templates::OperandSpec> specs_;
  std::vector<templates::HostTensor> arranged_;  ///< those that nobody put in order ahead; empty tensors for the others
  std::vector<Slot> slots_;                      ///< of one set; sets follow each other at set_bytes_
  std::size_t set_bytes_ = 0;
  std::size_t sets_ = 0;
  hip::DeviceBuffer memory_;
  std::vector<hip::DeviceBuffer> apart_;  ///< without guards: one an operand, so that a sanitizer sees where it ends
  hip::DeviceBuffer originals_;  ///< inputs and inouts as prepared, laid out as a set; only where there are checks
  hip::DeviceBuffer workspace_;
  std::size_t workspace_bytes_ = 0;
  bool damaged_ = true;
};

}  // namespace wavetune::measure
