#include "runtime/hip/cpu/device.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include "db/base/error.h"

namespace wavetune::hip::cpu {
namespace {

constexpr std::size_t allocation_alignment = 256;  // hipMalloc's

/// Physical memory, or the control group's limit when that is smaller.
std::size_t machine_bytes() {
  const auto physical =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t limit = 0;
  std::ifstream file("/sys/fs/cgroup/memory.max");
  return file >> limit ? std::min(limit, physical) : physical;
}

/// "268435456", "256M", "4G".
std::size_t parse_bytes(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (error != std::errc{} || shift < 0 || number == 0) {
    fail(ErrorKind::usage, "WAVETUNE_CPU_MEMORY is '{}'; write bytes of one device, for example 256M or 4G", text);
  }
  return number << shift;
}

}  // namespace

bool Device::reserve(std::size_t bytes, std::size_t limit) {
  std::size_t used = used_.load();
  do {
    if (bytes > limit || used > limit - bytes) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes));
  return true;
}

std::shared_ptr<Stream> Device::make_stream(unsigned flags) {
  auto stream = std::make_shared<Stream>(*this, flags);
  const std::lock_guard lock(mutex_);
  std::erase_if(streams_, [](const std::weak_ptr<Stream>& other) { return other.expired(); });
  streams_.push_back(stream);
  return stream;
}

std::shared_ptr<Stream> Device::null_stream() {
  const std::lock_guard lock(mutex_);
  if (!null_stream_) null_stream_ = std::make_shared<Stream>(*this, hipStreamDefault, true);
  return null_stream_;
}

std::vector<std::shared_ptr<Stream>> Device::streams() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Stream>> alive;
  for (const auto& weak : streams_) {
    if (auto stream = weak.lock()) alive.push_back(std::move(stream));
  }
  if (null_stream_) alive.push_back(null_stream_);
  return alive;
}

void Device::enqueue(Stream& stream, Operation operation) {
  if (stream.is_blocking()) {
    for (const auto& other : streams()) {
      if (!other->is_blocking() || other->is_default() == stream.is_default() || other->idle()) continue;
      stream.wait_for(other->record());
    }
  }
  stream.enqueue(std::move(operation));
}

bool Device::default_order_idle() {
  for (const auto& stream : streams()) {
    if (stream->is_blocking() && !stream->idle()) return false;
  }
  return true;
}

void Device::synchronize() {
  for (const auto& stream : streams()) stream->synchronize();
}

bool Device::enable_peer(int peer) {
  const std::lock_guard lock(mutex_);
  return peers_.insert(peer).second;
}

void Device::record_failure(hipError_t error) {
  hipError_t none = hipSuccess;
  failure_.compare_exchange_strong(none, error);
}

Machine& Machine::get() {
  // Never destroyed: streams' threads and the caller's handles may outlive static destructors.
  static Machine* const machine = new Machine();
  return *machine;
}

Machine::Machine() {
  devices_.reserve(max_devices);
  // A quarter stays for the host's own needs.
  total_bytes_ = machine_bytes() / 4 * 3;
  if (const char* text = std::getenv("WAVETUNE_CPU_MEMORY"); text != nullptr && *text != '\0') {
    per_device_bytes_ = parse_bytes(text);
  }
}

void Machine::show_devices(int count) {
  const std::lock_guard lock(grow_mutex_);
  while (static_cast<int>(devices_.size()) < std::min(count, max_devices)) {
    devices_.push_back(std::make_unique<Device>(static_cast<int>(devices_.size())));
  }
  count_ = static_cast<int>(devices_.size());
}

Device* Machine::device(int index) {
  return index >= 0 && index < device_count() ? devices_[static_cast<std::size_t>(index)].get() : nullptr;
}

std::size_t Machine::memory_bytes() const {
  if (per_device_bytes_ != 0) return per_device_bytes_;
  return total_bytes_ / static_cast<std::size_t>(std::max(1, device_count()));
}

void* Machine::allocate(std::size_t bytes, int index) {
  Device* const owner = device(index);
  if (owner != nullptr && !owner->reserve(bytes, memory_bytes())) return nullptr;
  void* pointer = nullptr;
  if (posix_memalign(&pointer, allocation_alignment, bytes) != 0) {
    if (owner != nullptr) owner->release(bytes);
    return nullptr;
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
  const std::unique_lock lock(allocations_mutex_);
  allocations_[begin] = {begin, bytes, owner != nullptr ? index : -1};
  return pointer;
}

bool Machine::free(void* pointer, bool host) {
  Allocation found;
  {
    const std::unique_lock lock(allocations_mutex_);
    const auto entry = allocations_.find(reinterpret_cast<std::uintptr_t>(pointer));
    if (entry == allocations_.end() || (entry->second.device < 0) != host) return false;
    found = entry->second;
    allocations_.erase(entry);
  }
  if (Device* const owner = device(found.device)) owner->release(found.bytes);
  std::free(pointer);
  return true;
}

std::optional<Allocation> Machine::find(const void* pointer) const {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const std::shared_lock lock(allocations_mutex_);
  auto next = allocations_.upper_bound(address);
  if (next == allocations_.begin()) return std::nullopt;
  const Allocation& candidate = std::prev(next)->second;
  if (address >= candidate.begin + candidate.bytes) return std::nullopt;
  return candidate;
}

}  // namespace wavetune::hip::cpu
