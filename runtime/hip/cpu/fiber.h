// Fibers with small guarded stacks, for the threads of a block: switching costs some nanoseconds, a stack is used again
// by the next block. Everything here belongs to one operating system thread.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/hip/cpu/sanitizer.h"

namespace wavetune::hip::cpu {

/// 64 KiB of stack under a guard page, so that a kernel that overruns it dies instead of damaging its neighbour.
class FiberStack {
 public:
  /// `number` shifts the stack's beginning a little: stacks that all begin at the same offset in a page fight for the
  /// same lines of the cache. Throws std::bad_alloc.
  explicit FiberStack(unsigned number);
  ~FiberStack();
  FiberStack(const FiberStack&) = delete;
  FiberStack& operator=(const FiberStack&) = delete;

  void* top() const { return top_; }
  void* bottom() const { return bottom_; }
  std::size_t size() const;

 private:
  void* mapping_ = nullptr;
  void* bottom_ = nullptr;
  void* top_ = nullptr;
};

struct Fiber {
  boost::context::detail::fcontext_t context = nullptr;
  std::unique_ptr<FiberStack> stack;  ///< null: the operating system thread's own stack
  const void* bottom = nullptr;
  std::size_t size = 0;
  void* fake_stack = nullptr;  ///< AddressSanitizer's
};

/// Switches between the thread's own stack (`main`) and fibers that all run the same function.
class FiberPool {
 public:
  using Body = void (*)(void* user);  ///< called again each time that the fiber is taken from the pool and switched to

  FiberPool(Body body, void* user);
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  Fiber* current() const { return current_; }
  Fiber* main() { return &main_; }
  Fiber* take();
  /// The current fiber's body is about to end: it may be taken again after the next switch.
  void give_back_current() { free_.push_back(current_); }
  /// Where the current fiber goes when its body returns. Must be set by the body.
  void then(Fiber* next) { next_after_body_ = next; }
  void switch_to(Fiber* target);
  /// Forgets what all fibers were doing. Only from main.
  void reset();

 private:
  static void entry(boost::context::detail::transfer_t transfer);
  void prepare(Fiber& fiber);
  void arrived(boost::context::detail::transfer_t transfer, void* fake_stack);

  Body body_;
  void* user_;
  const Sanitizer* const asan_;  ///< null when AddressSanitizer is not in the process
  Fiber main_;
  Fiber* current_ = &main_;
  Fiber* previous_ = nullptr;
  Fiber* next_after_body_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> free_;
};

}  // namespace wavetune::hip::cpu
