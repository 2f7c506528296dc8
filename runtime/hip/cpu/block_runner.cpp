#include "runtime/hip/cpu/block_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/hip/cpu/sanitizer.h"

namespace wavetune::hip::cpu {
namespace {

constexpr std::size_t lds_alignment = 64;
// All bits set is a NaN in float32 and bfloat16 and an index that cannot be: what reads LDS before writing it shows.
constexpr int lds_pattern = 0xFF;

void* aligned(std::size_t bytes, std::size_t alignment) {
  void* pointer = nullptr;
  if (posix_memalign(&pointer, alignment, bytes == 0 ? 1 : bytes) != 0) throw std::bad_alloc();
  return pointer;
}

const char* meeting_name(wt_cpu::Meeting meeting) {
  switch (meeting) {
    case wt_cpu::Meeting::shuffle:
      return "shuffle";
    case wt_cpu::Meeting::ballot:
      return "ballot";
    case wt_cpu::Meeting::sum:
      return "wave_sum";
    case wt_cpu::Meeting::max:
      return "wave_max";
    case wt_cpu::Meeting::matrix:
      return "matrix multiply";
    case wt_cpu::Meeting::none:
      break;
  }
  return "wave operation";
}

}  // namespace

void BlockRunner::Released::operator()(void* pointer) const { std::free(pointer); }

const wt_cpu::Host BlockRunner::host_table = {
    [](wt_cpu::Block* block, unsigned thread) { of(block).barrier(thread); },
    [](wt_cpu::Block* block, unsigned thread, wt_cpu::Meeting meeting, wt_cpu::Combine combine) {
      of(block).meet(thread, meeting, combine);
    },
    [](wt_cpu::Block* block, unsigned thread) { of(block).thread_ended(thread); },
    [](wt_cpu::Block* block, unsigned* slot, unsigned long long bytes, unsigned long long alignment) {
      return of(block).allocate_shared(slot, bytes, alignment);
    }};

BlockRunner& BlockRunner::of_this_thread() {
  static thread_local BlockRunner runner;
  return runner;
}

BlockRunner::BlockRunner() : waves_(new wt_cpu::Wave[wt_cpu::max_waves]), fibers_(fiber_body, this) {
  block_.host = &host_table;
  block_.waves = waves_.get();
  block_.runner = this;
  if (!sanitizer().present) arena_.reset(aligned(wt_cpu::lds_limit, 4096));
}

std::optional<std::string> BlockRunner::run(const GridLaunch& launch, wt_cpu::Dim block_idx) {
  begin_block(launch, block_idx);
  fibers_.switch_to(fibers_.take());
  pieces_.clear();
  if (!failure_) return std::nullopt;
  fibers_.reset();
  return fmt::format("kernel {}, block ({}, {}, {}): {}", launch.kernel->entry->name, block_idx.x, block_idx.y,
                     block_idx.z, *failure_);
}

void BlockRunner::begin_block(const GridLaunch& launch, wt_cpu::Dim block_idx) {
  launch_ = &launch;
  failure_.reset();
  block_.block_idx = block_idx;
  block_.block_dim = launch.block;
  block_.grid_dim = launch.grid;
  block_.threads = launch.block.x * launch.block.y * launch.block.z;
  block_.next = 0;
  block_.live = block_.threads;
  block_.waiting = 0;
  const unsigned waves = (block_.threads + wt_cpu::wave_lanes - 1) / wt_cpu::wave_lanes;
  for (unsigned i = 0; i < waves; ++i) {
    wt_cpu::Wave& wave = waves_[i];
    const unsigned lanes = std::min(wt_cpu::wave_lanes, block_.threads - i * wt_cpu::wave_lanes);
    wave.live = lanes == wt_cpu::wave_lanes ? ~0ull : (1ull << lanes) - 1;
    wave.arrived = 0;
    wave.parity = 0;
    at_meeting_[i].clear();
  }
  at_barrier_.clear();
  ready_.clear();
  ready_head_ = 0;
  lds_used_ = 0;
  std::fill_n(block_.shared, wt_cpu::max_shared_variables, nullptr);
  block_.dynamic_lds = launch.lds_bytes == 0 ? nullptr : allocate_lds(launch.lds_bytes, lds_alignment);
}

void* BlockRunner::allocate_lds(std::size_t bytes, std::size_t alignment) {
  alignment = std::max(alignment, lds_alignment);
  const std::size_t offset = (lds_used_ + alignment - 1) / alignment * alignment;
  if (offset + bytes > wt_cpu::lds_limit) return nullptr;
  lds_used_ = offset + bytes;
  void* place = nullptr;
  if (arena_) {
    place = static_cast<char*>(arena_.get()) + offset;
  } else {
    pieces_.emplace_back(aligned(bytes, alignment));
    place = pieces_.back().get();
  }
  std::memset(place, lds_pattern, bytes);
  return place;
}

void* BlockRunner::allocate_shared(unsigned* slot, std::size_t bytes, std::size_t alignment) {
  unsigned index = __atomic_load_n(slot, __ATOMIC_RELAXED);
  if (index == 0) {
    // Blocks on other cores may ask for the same variable: the first one's number counts, the other's stays unused.
    const unsigned fresh = launch_->kernel->shared_slots->fetch_add(1, std::memory_order_relaxed) + 1;
    if (fresh > wt_cpu::max_shared_variables) {
      give_up(fmt::format("more than {} __shared__ variables in one code object", wt_cpu::max_shared_variables));
    }
    if (__atomic_compare_exchange_n(slot, &index, fresh, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) index = fresh;
  }
  void* const place = allocate_lds(bytes, alignment);
  if (place == nullptr) {
    give_up(fmt::format("needs more LDS than the {} bytes of a block ({} used, {} more asked for)", wt_cpu::lds_limit,
                        lds_used_, bytes));
  }
  block_.shared[index - 1] = place;
  return place;
}

void BlockRunner::fiber_body(void* self) {
  auto& runner = *static_cast<BlockRunner*>(self);
  runner.launch_->kernel->entry->run(&runner.block_, runner.launch_->arguments);
  Fiber* next = runner.fibers_.main();
  if (runner.block_.live != 0) {
    next = runner.runnable();
    if (next == nullptr) runner.give_up(runner.deadlock_text());
  }
  runner.fibers_.give_back_current();
  runner.fibers_.then(next);
}

Fiber* BlockRunner::runnable() {
  if (ready_head_ != ready_.size()) {
    Fiber* const fiber = ready_[ready_head_++];
    if (ready_head_ == ready_.size()) {
      ready_.clear();
      ready_head_ = 0;
    }
    return fiber;
  }
  return block_.next < block_.threads ? fibers_.take() : nullptr;
}

void BlockRunner::wait(std::vector<Fiber*>& place) {
  place.push_back(fibers_.current());
  ++block_.waiting;
  Fiber* const next = runnable();
  if (next == nullptr) give_up(deadlock_text());
  fibers_.switch_to(next);
}

void BlockRunner::release(std::vector<Fiber*>& place) {
  block_.waiting -= static_cast<unsigned>(place.size());
  ready_.insert(ready_.end(), place.begin(), place.end());
  place.clear();
}

void BlockRunner::barrier(unsigned) {
  if (at_barrier_.size() + 1 == block_.live) {
    release(at_barrier_);
  } else {
    wait(at_barrier_);
  }
}

void BlockRunner::complete(unsigned index) {
  wt_cpu::Wave& wave = waves_[index];
  if (combine_[index] != nullptr) combine_[index](wave.buffer[wave.parity], wave.arrived);
  wave.present[wave.parity] = wave.arrived;
  wave.parity ^= 1;
  wave.arrived = 0;
  release(at_meeting_[index]);
}

void BlockRunner::meet(unsigned thread, wt_cpu::Meeting meeting, wt_cpu::Combine combine) {
  const unsigned index = thread / wt_cpu::wave_lanes;
  wt_cpu::Wave& wave = waves_[index];
  if (wave.arrived == 0) {
    wave.meeting = meeting;
    combine_[index] = combine;
  } else if (wave.meeting != meeting || combine_[index] != combine) {
    give_up(fmt::format(
        "lanes of wave {} have diverged: lane {} is at a {}, others are at a {}; all lanes of a wave must make "
        "the same wave operations",
        index, thread % wt_cpu::wave_lanes, meeting_name(meeting), meeting_name(wave.meeting)));
  }
  wave.arrived |= 1ull << (thread % wt_cpu::wave_lanes);
  if (wave.arrived == wave.live) {
    complete(index);
  } else {
    wait(at_meeting_[index]);
  }
}

void BlockRunner::thread_ended(unsigned thread) {
  // A thread that has ended is not waited for.
  if (!at_barrier_.empty() && at_barrier_.size() == block_.live) release(at_barrier_);
  const wt_cpu::Wave& wave = waves_[thread / wt_cpu::wave_lanes];
  if (wave.arrived != 0 && wave.arrived == wave.live) complete(thread / wt_cpu::wave_lanes);
}

std::string BlockRunner::deadlock_text() const {
  std::string text = fmt::format("its threads wait for each other for ever: {} at __syncthreads", at_barrier_.size());
  for (unsigned i = 0; i < wt_cpu::max_waves; ++i) {
    if (at_meeting_[i].empty()) continue;
    text += fmt::format(", {} lanes of wave {} at a {}", at_meeting_[i].size(), i, meeting_name(waves_[i].meeting));
  }
  return text + "; every thread of a block must reach each barrier, and all lanes of a wave each wave operation";
}

void BlockRunner::give_up(std::string reason) {
  failure_ = std::move(reason);
  fibers_.switch_to(fibers_.main());
  __builtin_unreachable();
}

}  // namespace wavetune::hip::cpu
