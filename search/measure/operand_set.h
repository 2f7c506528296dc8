// A problem's operands in device memory, between guard bands.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/hip/handles.h"
#include "templates/operator.h"

namespace wavetune::measure {

/// Bytes before and after each operand that a kernel must leave alone. They hold NaN (as float32 and as bf16) and -1
/// (as i32), so that a kernel that reads past its operand spoils its result. None under AddressSanitizer, whose red
/// zones are better.
inline constexpr std::size_t guard_bytes = 1024;
/// All bits set is NaN in float64, float32, bf16, f16, e4m3fn and e8m0.
inline constexpr int guard_byte = 0xFF;
/// What outputs hold before a kernel writes them: NaN, or for integers a value that no kernel writes by right.
int poison_byte(templates::DType type);

/// On the device that was current when it was made; use it with that device current.
class OperandSet {
 public:
  OperandSet(const hip::Api& api, std::vector<templates::OperandSpec> specs, std::int64_t workspace_bytes, bool guards);

  /// Inputs and inouts get `host`'s values; outputs and workspace a poison: NaN for float types, a pattern for
  /// integers.
  void reset(std::span<const templates::HostTensor> host);
  /// All operands as they are now.
  std::vector<templates::HostTensor> download() const;
  /// Which guard band was overwritten, or nothing.
  std::optional<std::string> broken_guard() const;

  const std::vector<templates::OperandSpec>& specs() const { return specs_; }
  std::vector<templates::View> views() const;
  void* data(std::size_t operand) const;
  void* workspace() const;
  std::size_t bytes() const;

 private:
  struct Slot {
    hip::DeviceBuffer buffer;
    std::size_t bytes = 0;
  };
  void* data_of(const Slot& slot) const;
  void poison_guards(const Slot& slot);
  bool guards_hold(const Slot& slot) const;

  const hip::Api& api_;
  std::vector<templates::OperandSpec> specs_;
  std::size_t guard_ = 0;
  std::vector<Slot> slots_;  ///< one an operand
  Slot workspace_;
};

}  // namespace wavetune::measure
