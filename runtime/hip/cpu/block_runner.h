// One block at a time on one operating system thread.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/hip/cpu/executor.h"
#include "runtime/hip/cpu/fiber.h"

namespace wavetune::hip::cpu {

/// The kernel's threads run one after the other on one fiber, as a plain loop, until one has to wait; only then does
/// another fiber go on with the threads that have not begun. A kernel that never waits costs one fiber.
class BlockRunner {
 public:
  static BlockRunner& of_this_thread();

  std::optional<std::string> run(const GridLaunch& launch, wt_cpu::Dim block_idx);

 private:
  struct RunnerBlock : wt_cpu::Block {
    BlockRunner* runner;
  };
  struct Released {
    void operator()(void* pointer) const;
  };
  using LdsMemory = std::unique_ptr<void, Released>;

  BlockRunner();

  static BlockRunner& of(wt_cpu::Block* block) { return *static_cast<RunnerBlock*>(block)->runner; }
  static void fiber_body(void* self);
  static const wt_cpu::Host host_table;

  void begin_block(const GridLaunch& launch, wt_cpu::Dim block_idx);
  void* allocate_lds(std::size_t bytes, std::size_t alignment);
  void* allocate_shared(unsigned* slot, std::size_t bytes, std::size_t alignment);
  void barrier(unsigned thread);
  void meet(unsigned thread, wt_cpu::Meeting meeting, wt_cpu::Combine combine);
  void thread_ended(unsigned thread);

  void wait(std::vector<Fiber*>& place);
  void release(std::vector<Fiber*>& place);
  void complete(unsigned wave);
  /// The next fiber that can go on, or one for threads that have not begun, or null: none can.
  Fiber* runnable();
  /// Gives the block up; does not return to the fiber that calls it.
  [[noreturn]] void give_up(std::string reason);
  std::string deadlock_text() const;

  RunnerBlock block_{};
  const GridLaunch* launch_ = nullptr;
  std::unique_ptr<wt_cpu::Wave[]> waves_;
  std::array<wt_cpu::Combine, wt_cpu::max_waves> combine_{};
  std::array<std::vector<Fiber*>, wt_cpu::max_waves> at_meeting_;
  std::vector<Fiber*> at_barrier_;
  std::vector<Fiber*> ready_;  ///< a queue from ready_head_ on
  std::size_t ready_head_ = 0;
  FiberPool fibers_;
  std::optional<std::string> failure_;

  LdsMemory arena_;  ///< all LDS of a block, without AddressSanitizer
  std::size_t lds_used_ = 0;
  std::vector<LdsMemory> pieces_;  ///< one allocation a variable, with AddressSanitizer: it then sees every overrun
};

}  // namespace wavetune::hip::cpu
