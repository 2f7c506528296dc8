#include "runtime/hip/cpu/fiber.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace wavetune::hip::cpu {
namespace context = boost::context::detail;
namespace {

constexpr std::size_t stack_bytes = 64 << 10;
// AddressSanitizer puts redzones around every variable.
constexpr std::size_t sanitized_stack_bytes = 256 << 10;
constexpr std::size_t colours = 32;
constexpr std::size_t colour_bytes = 128;

std::size_t usable_bytes() { return sanitizer().present ? sanitized_stack_bytes : stack_bytes; }
std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

FiberStack::FiberStack(unsigned number) {
  const std::size_t total = page_bytes() + size();
  mapping_ = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  // Fails when the process has too many mappings (128 cores times 1024 stacks); the stack then works without a guard.
  (void)mprotect(mapping_, page_bytes(), PROT_NONE);
  bottom_ = static_cast<char*>(mapping_) + page_bytes();
  top_ = static_cast<char*>(mapping_) + total - (number % colours) * colour_bytes;
}

FiberStack::~FiberStack() { munmap(mapping_, page_bytes() + size()); }

std::size_t FiberStack::size() const { return usable_bytes(); }

FiberPool::FiberPool(Body body, void* user)
    : body_(body), user_(user), asan_(sanitizer().present ? &sanitizer() : nullptr) {
  if (asan_ == nullptr) return;
  // AddressSanitizer wants to be told the stack that is switched to, this thread's own included.
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* bottom = nullptr;
  pthread_attr_getstack(&attributes, &bottom, &main_.size);
  main_.bottom = bottom;
  pthread_attr_destroy(&attributes);
}

void FiberPool::prepare(Fiber& fiber) {
  const auto usable =
      static_cast<std::size_t>(static_cast<char*>(fiber.stack->top()) - static_cast<char*>(fiber.stack->bottom()));
  fiber.context = context::make_fcontext(fiber.stack->top(), usable, entry);
  fiber.fake_stack = nullptr;
}

Fiber* FiberPool::take() {
  if (free_.empty()) {
    auto fiber = std::make_unique<Fiber>();
    fiber->stack = std::make_unique<FiberStack>(static_cast<unsigned>(fibers_.size()));
    fiber->bottom = fiber->stack->bottom();
    fiber->size = fiber->stack->size();
    prepare(*fiber);
    fibers_.push_back(std::move(fiber));
    return fibers_.back().get();
  }
  Fiber* fiber = free_.back();
  free_.pop_back();
  return fiber;
}

void FiberPool::switch_to(Fiber* target) {
  Fiber* const self = current_;
  if (target == self) return;
  previous_ = self;
  current_ = target;
  if (asan_ != nullptr) asan_->start_switch_fiber(&self->fake_stack, target->bottom, target->size);
  const context::transfer_t transfer = context::jump_fcontext(target->context, this);
  arrived(transfer, self->fake_stack);
}

void FiberPool::arrived(context::transfer_t transfer, void* fake_stack) {
  if (asan_ != nullptr) asan_->finish_switch_fiber(fake_stack, nullptr, nullptr);
  previous_->context = transfer.fctx;
}

void FiberPool::entry(context::transfer_t transfer) {
  auto* const pool = static_cast<FiberPool*>(transfer.data);
  pool->arrived(transfer, nullptr);
  for (;;) {
    pool->body_(pool->user_);
    pool->switch_to(pool->next_after_body_);
  }
}

void FiberPool::reset() {
  free_.clear();
  for (const auto& fiber : fibers_) {
    if (asan_ != nullptr) asan_->unpoison(fiber->stack->bottom(), fiber->stack->size());
    prepare(*fiber);
    free_.push_back(fiber.get());
  }
}

}  // namespace wavetune::hip::cpu
