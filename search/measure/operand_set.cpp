#include "search/measure/operand_set.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace wavetune::measure {
namespace {

using templates::DType;
using templates::HostTensor;
using templates::Role;

// Not 0xFF: -1 is a value that integer outputs have by right ("no index"), and must not be there without being written.
constexpr int integer_poison_byte = 0xA5;

}  // namespace

int poison_byte(DType type) {
  switch (type) {
    case DType::f32:
    case DType::f64:
    case DType::bf16:
    case DType::f16:
    case DType::fp8:
    case DType::e8m0:
      return guard_byte;
    default:
      return integer_poison_byte;
  }
}

OperandSet::OperandSet(const hip::Api& api, std::vector<templates::OperandSpec> specs, std::int64_t workspace_bytes,
                       bool guards)
    : api_(api), specs_(std::move(specs)), guard_(guards ? guard_bytes : 0) {
  const auto allocate = [&](std::size_t bytes) { return Slot{hip::DeviceBuffer(api_, bytes + 2 * guard_), bytes}; };
  for (const templates::OperandSpec& spec : specs_) {
    slots_.push_back(allocate(templates::bytes_for(spec.dtype, spec.count())));
  }
  workspace_ = allocate(static_cast<std::size_t>(std::max<std::int64_t>(0, workspace_bytes)));
}

void* OperandSet::data_of(const Slot& slot) const { return static_cast<std::byte*>(slot.buffer.get()) + guard_; }
void* OperandSet::data(std::size_t operand) const { return data_of(slots_[operand]); }
void* OperandSet::workspace() const { return data_of(workspace_); }

std::size_t OperandSet::bytes() const {
  std::size_t total = 0;
  for (const Slot& slot : slots_) total += slot.bytes;
  return total;
}

void OperandSet::poison_guards(const Slot& slot) {
  if (guard_ == 0) return;
  auto* begin = static_cast<std::byte*>(slot.buffer.get());
  hip::check(api_, api_.hipMemset(begin, guard_byte, guard_), "hipMemset of a guard band");
  hip::check(api_, api_.hipMemset(begin + guard_ + slot.bytes, guard_byte, guard_), "hipMemset of a guard band");
}

void OperandSet::reset(std::span<const HostTensor> host) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    poison_guards(slot);
    if (slot.bytes == 0) continue;
    if (specs_[i].role == Role::input || specs_[i].role == Role::inout) {
      hip::check(api_, api_.hipMemcpy(data_of(slot), host[i].bytes().data(), slot.bytes, hipMemcpyHostToDevice),
                 "hipMemcpy of operand " + specs_[i].name);
    } else {
      hip::check(api_, api_.hipMemset(data_of(slot), poison_byte(specs_[i].dtype), slot.bytes),
                 "hipMemset of operand " + specs_[i].name);
    }
  }
  poison_guards(workspace_);
  if (workspace_.bytes > 0) {
    hip::check(api_, api_.hipMemset(data_of(workspace_), guard_byte, workspace_.bytes), "hipMemset of the workspace");
  }
  hip::check(api_, api_.hipDeviceSynchronize(), "hipDeviceSynchronize after filling operands");
}

std::vector<HostTensor> OperandSet::download() const {
  std::vector<HostTensor> tensors;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    HostTensor& tensor = tensors.emplace_back(specs_[i].dtype, specs_[i].count());
    if (slots_[i].bytes == 0) continue;
    hip::check(api_, api_.hipMemcpy(tensor.bytes().data(), data_of(slots_[i]), slots_[i].bytes, hipMemcpyDeviceToHost),
               "hipMemcpy of operand " + specs_[i].name);
  }
  return tensors;
}

bool OperandSet::guards_hold(const Slot& slot) const {
  const auto* begin = static_cast<const std::byte*>(slot.buffer.get());
  for (const std::byte* band : {begin, begin + guard_ + slot.bytes}) {
    std::array<std::byte, guard_bytes> seen{};
    hip::check(api_, api_.hipMemcpy(seen.data(), band, guard_, hipMemcpyDeviceToHost), "hipMemcpy of a guard band");
    for (std::byte byte : seen) {
      if (byte != std::byte{guard_byte}) return false;
    }
  }
  return true;
}

std::optional<std::string> OperandSet::broken_guard() const {
  if (guard_ == 0) return std::nullopt;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!guards_hold(slots_[i])) return "it wrote outside operand '" + specs_[i].name + "'";
  }
  if (!guards_hold(workspace_)) return "it wrote outside its workspace";
  return std::nullopt;
}

std::vector<templates::View> OperandSet::views() const {
  std::vector<void*> buffers;
  for (std::size_t i = 0; i < slots_.size(); ++i) buffers.push_back(data(i));
  return templates::dense_views(specs_, buffers);
}

}  // namespace wavetune::measure
