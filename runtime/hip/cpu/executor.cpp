#include "runtime/hip/cpu/executor.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <chrono>

#include "runtime/hip/cpu/block_runner.h"

namespace wavetune::hip::cpu {
namespace {

// Below this much work for the whole grid, handing blocks to other cores costs more than it saves.
constexpr float serial_nanoseconds = 15'000;

using Clock = std::chrono::steady_clock;

struct Blocks {
  const GridLaunch& launch;
  std::atomic<bool> failed{false};
  std::atomic<float> nanoseconds{0};  ///< summed over the cores that took part
  std::mutex mutex;
  std::optional<std::string> failure;

  void run(std::size_t begin, std::size_t end) {
    BlockRunner& runner = BlockRunner::of_this_thread();
    const wt_cpu::Dim& grid = launch.grid;
    const Clock::time_point start = Clock::now();
    for (std::size_t i = begin; i < end && !failed.load(std::memory_order_relaxed); ++i) {
      const wt_cpu::Dim block{static_cast<unsigned>(i % grid.x), static_cast<unsigned>(i / grid.x % grid.y),
                              static_cast<unsigned>(i / grid.x / grid.y)};
      std::optional<std::string> result = runner.run(launch, block);
      if (!result) continue;
      const std::lock_guard lock(mutex);
      failed = true;
      if (!failure) failure = std::move(result);
    }
    const std::chrono::duration<float, std::nano> took = Clock::now() - start;
    nanoseconds.fetch_add(took.count(), std::memory_order_relaxed);
  }
};

}  // namespace

std::optional<std::string> run_grid(const GridLaunch& launch) {
  Blocks blocks{launch, false, 0, {}, {}};
  const std::size_t count = std::size_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  std::atomic<float>& known = launch.kernel->block_nanoseconds;
  const float expected = known.load(std::memory_order_relaxed) * static_cast<float>(count);
  if (count == 1 || (expected > 0 && expected < serial_nanoseconds)) {
    blocks.run(0, count);
  } else {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count),
                      [&](const tbb::blocked_range<std::size_t>& range) { blocks.run(range.begin(), range.end()); });
  }
  known.store(blocks.nanoseconds.load(std::memory_order_relaxed) / static_cast<float>(count),
              std::memory_order_relaxed);
  return std::move(blocks.failure);
}

}  // namespace wavetune::hip::cpu
