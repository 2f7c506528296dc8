#include "search/measure/operand_pool.h"

#include <algorithm>
#include <utility>

namespace wavetune::measure {
namespace {

using templates::DType;
using templates::HostTensor;
using templates::Role;

// Operands of fewer bytes than this come from a cache in serving too, whatever is done here.
constexpr std::size_t most_sets = 128;
// Part of the free memory that the sets may take.
constexpr double memory_share = 0.4;
constexpr std::size_t alignment = 256;

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// Not 0xFF: -1 is a value that integer outputs have by right ("no index"), and must not be there without being written.
constexpr int integer_poison_byte = 0xA5;

/// What outputs hold before a kernel writes them: NaN, or for integers a value that no kernel writes by right.
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

bool read_by_kernels(Role role) { return role == Role::input || role == Role::inout; }

}  // namespace

OperandPool::OperandPool(const hip::Provider& provider, const PreparedProblem& prepared, const PoolOptions& options)
    : api_(provider.api()), prepared_(prepared), options_(options), guard_(options.guards ? guard_bytes : 0) {}

void OperandPool::lay_out(std::span<const db::Config> configs) {
  hip::check(api_, api_.hipSetDevice(options_.device), "hipSetDevice");
  const templates::Operator& op = *prepared_.op;
  const db::Config& config = configs.front();
  std::vector<templates::Arrangement> wanted;
  for (std::size_t i = 0; i < prepared_.specs.size(); ++i)
    wanted.push_back(op.arrangement(prepared_.problem, config, i));
  if (wanted != arrangement_) {
    arrangement_ = std::move(wanted);
    specs_ = templates::arranged_operands(op, prepared_.problem, config);
    arranged_.assign(specs_.size(), {});
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (arrangement_[i] != templates::Arrangement::rows && arranged_ahead(i) == nullptr)
        arranged_[i] = templates::arrange(prepared_.specs[i], arrangement_[i], prepared_.inputs[i]);
    }
    allocate();
    damaged_ = true;
  }
  std::size_t needed = 0;
  for (const db::Config& each : configs) {
    const std::int64_t bytes = op.workspace_bytes(prepared_.problem, each);
    needed = std::max(needed, static_cast<std::size_t>(std::max<std::int64_t>(0, bytes)));
  }
  // Guard bands lie at the very end of what a configuration may use.
  const bool too_small = workspace_.get() == nullptr || workspace_.bytes() < needed + 2 * guard_;
  if (too_small || (guard_ == 0 && workspace_.bytes() != needed))
    workspace_ = hip::DeviceBuffer(api_, needed + 2 * guard_);
  workspace_bytes_ = needed;
}

void OperandPool::arrange_for(std::span<const db::Config> configs) {
  lay_out(configs);
  if (damaged_) fill_all();
  poison();
  hip::check(api_, api_.hipDeviceSynchronize(), "hipDeviceSynchronize after filling operands");
}

void OperandPool::allocate() {
  slots_.clear();
  set_bytes_ = 0;
  std::size_t data_bytes = 0;
  for (const templates::OperandSpec& spec : specs_) {
    // Data begins aligned as an allocation of its own would; the band after it follows at once.
    const std::size_t bytes = templates::bytes_for(spec.dtype, spec.count());
    const std::size_t offset = aligned(set_bytes_ + guard_);
    slots_.push_back({offset, bytes});
    set_bytes_ = offset + bytes + guard_;
    data_bytes += bytes;
  }
  set_bytes_ = aligned(set_bytes_);
  // Of 256 experts a step of one token reads eight: what counts is what a launch reads, not what lies there.
  const double cost = prepared_.op->cost(prepared_.problem).bytes;
  const auto touched = static_cast<std::size_t>(std::clamp(cost > 0 ? cost : static_cast<double>(data_bytes), 1.0,
                                                           std::max(1.0, static_cast<double>(data_bytes))));
  std::size_t wanted = std::clamp<std::size_t>((options_.rotate_bytes + touched - 1) / touched, 1, most_sets);
  memory_.reset();
  originals_.reset();
  if (wanted > 1 || options_.checks != nullptr) {
    std::size_t free_bytes = 0, total_bytes = 0;
    hip::check(api_, api_.hipMemGetInfo(&free_bytes, &total_bytes), "hipMemGetInfo");
    const auto room = static_cast<std::size_t>(memory_share * static_cast<double>(free_bytes));
    wanted = std::clamp<std::size_t>(room / std::max<std::size_t>(1, set_bytes_), 1, wanted);
  }
  sets_ = wanted;
  apart_.clear();
  if (guard_ == 0) {
    for (std::size_t set = 0; set < sets_; ++set) {
      for (const Slot& slot : slots_) apart_.emplace_back(api_, slot.bytes);
    }
  } else {
    memory_ = hip::DeviceBuffer(api_, sets_ * set_bytes_);
  }
  if (options_.checks != nullptr) originals_ = hip::DeviceBuffer(api_, set_bytes_);
}

std::size_t OperandPool::bytes() const {
  std::size_t bytes = memory_.bytes() + originals_.bytes() + workspace_.bytes();
  for (const hip::DeviceBuffer& buffer : apart_) bytes += buffer.bytes();
  return bytes;
}

std::byte* OperandPool::data(std::size_t set, std::size_t operand) const {
  if (guard_ == 0) return static_cast<std::byte*>(apart_[set * slots_.size() + operand].get());
  return static_cast<std::byte*>(memory_.get()) + set * set_bytes_ + slots_[operand].offset;
}

void* OperandPool::workspace() const { return static_cast<std::byte*>(workspace_.get()) + guard_; }

const HostTensor* OperandPool::arranged_ahead(std::size_t operand) const {
  for (const ArrangedInput& input : prepared_.arranged) {
    if (input.operand == operand && input.arrangement == arrangement_[operand]) return &input.tensor;
  }
  return nullptr;
}

const HostTensor& OperandPool::host(std::size_t operand) const {
  if (arrangement_[operand] == templates::Arrangement::rows) return prepared_.inputs[operand];
  const HostTensor* const ahead = arranged_ahead(operand);
  return ahead != nullptr ? *ahead : arranged_[operand];
}

void OperandPool::fill(void* at, int byte, std::size_t bytes) const {
  if (bytes > 0) hip::check(api_, api_.hipMemsetAsync(at, byte, bytes, nullptr), "hipMemsetAsync of operands");
}

void OperandPool::fill_all() {
  if (guard_ > 0) fill(memory_.get(), guard_byte, sets_ * set_bytes_);
  const auto copy = [&](void* to, const void* from, std::size_t bytes, hipMemcpyKind kind, std::size_t operand) {
    hip::check(api_, api_.hipMemcpy(to, from, bytes, kind), "hipMemcpy of operand " + specs_[operand].name);
  };
  auto* originals = static_cast<std::byte*>(originals_.get());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].bytes == 0 || !read_by_kernels(specs_[i].role)) continue;
    // Over the bus once, then from device memory.
    void* first = originals != nullptr ? originals + slots_[i].offset : data(0, i);
    copy(first, host(i).bytes().data(), slots_[i].bytes, hipMemcpyHostToDevice, i);
    for (std::size_t set = 0; set < sets_; ++set) {
      if (data(set, i) != first) copy(data(set, i), first, slots_[i].bytes, hipMemcpyDeviceToDevice, i);
    }
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (specs_[i].role == Role::input) continue;
    for (std::size_t set = 1; set < sets_; ++set) {
      if (!read_by_kernels(specs_[i].role)) fill(data(set, i), poison_byte(specs_[i].dtype), slots_[i].bytes);
    }
  }
  damaged_ = false;
}

void OperandPool::poison() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].bytes == 0) continue;
    if (specs_[i].role == Role::output || specs_[i].role == Role::workspace) {
      fill(data(0, i), poison_byte(specs_[i].dtype), slots_[i].bytes);
    } else if (specs_[i].role == Role::inout) {
      const bool there = originals_.get() != nullptr;
      const void* from = there ? static_cast<const std::byte*>(originals_.get()) + slots_[i].offset
                               : static_cast<const void*>(host(i).bytes().data());
      hip::check(
          api_,
          api_.hipMemcpy(data(0, i), from, slots_[i].bytes, there ? hipMemcpyDeviceToDevice : hipMemcpyHostToDevice),
          "hipMemcpy of operand " + specs_[i].name);
    }
  }
  fill(workspace_.get(), guard_byte, workspace_bytes_ + 2 * guard_);
}

std::vector<templates::View> OperandPool::views(std::size_t set) const {
  std::vector<void*> buffers;
  for (std::size_t i = 0; i < slots_.size(); ++i) buffers.push_back(data(set, i));
  return templates::dense_views(specs_, buffers);
}

std::vector<const void*> OperandPool::bands() const {
  std::vector<const void*> begins;
  if (guard_ == 0) return begins;
  const auto around = [&](const std::byte* begin, std::size_t bytes) {
    begins.push_back(begin - guard_);
    begins.push_back(begin + bytes);
  };
  around(static_cast<const std::byte*>(workspace()), workspace_bytes_);
  for (std::size_t set = 0; set < sets_; ++set) {
    for (std::size_t i = 0; i < slots_.size(); ++i) around(data(set, i), slots_[i].bytes);
  }
  return begins;
}

std::string OperandPool::band_name(std::size_t band) const {
  const std::size_t slot = band / 2;
  if (slot == 0) return "it wrote outside its workspace";
  return "it wrote outside operand '" + specs_[(slot - 1) % slots_.size()].name + "'";
}

std::optional<std::string> OperandPool::damage(hipStream_t stream) {
  std::optional<std::string> damage =
      options_.checks != nullptr ? damage_seen_by_device(stream) : damage_seen_by_host(stream);
  damaged_ = damaged_ || damage.has_value();
  return damage;
}

std::optional<std::string> OperandPool::damage_seen_by_device(hipStream_t stream) {
  std::vector<DeviceChecks::Copy> copies;
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (specs_[i].role != Role::input) continue;
    inputs.push_back(i);
    copies.push_back({data(0, i), static_cast<const std::byte*>(originals_.get()) + slots_[i].offset, slots_[i].bytes});
  }
  const std::vector<const void*> begins = bands();
  const std::vector<bool> changed = options_.checks->changed(stream, copies, {begins, guard_});
  for (std::size_t band = 0; band < begins.size(); ++band) {
    if (changed[copies.size() + band]) return band_name(band);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (changed[i]) return "it wrote to its input '" + specs_[inputs[i]].name + "'";
  }
  return std::nullopt;
}

std::optional<std::string> OperandPool::damage_seen_by_host(hipStream_t stream) const {
  hip::check(api_, api_.hipStreamSynchronize(stream), "hipStreamSynchronize after the kernel");
  std::vector<std::byte> seen(guard_);
  const std::vector<const void*> begins = bands();
  for (std::size_t band = 0; band < begins.size(); ++band) {
    hip::check(api_, api_.hipMemcpy(seen.data(), begins[band], guard_, hipMemcpyDeviceToHost),
               "hipMemcpy of a guard band");
    if (std::ranges::any_of(seen, [](std::byte byte) { return byte != std::byte{guard_byte}; })) return band_name(band);
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (specs_[i].role != Role::input || slots_[i].bytes == 0) continue;
    seen.resize(slots_[i].bytes);
    hip::check(api_, api_.hipMemcpy(seen.data(), data(0, i), slots_[i].bytes, hipMemcpyDeviceToHost),
               "hipMemcpy of operand " + specs_[i].name);
    if (!std::ranges::equal(seen, host(i).bytes())) return "it wrote to its input '" + specs_[i].name + "'";
  }
  return std::nullopt;
}

std::vector<HostTensor> OperandPool::results() const {
  std::vector<HostTensor> tensors(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (specs_[i].role == Role::input) continue;
    tensors[i] = HostTensor(specs_[i].dtype, specs_[i].count());
    if (slots_[i].bytes == 0) continue;
    hip::check(api_, api_.hipMemcpy(tensors[i].bytes().data(), data(0, i), slots_[i].bytes, hipMemcpyDeviceToHost),
               "hipMemcpy of operand " + specs_[i].name);
  }
  return tensors;
}

}  // namespace wavetune::measure
