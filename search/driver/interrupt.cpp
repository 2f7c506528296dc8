#include "search/driver/interrupt.h"

#include <atomic>

namespace wavetune::search {
namespace {

std::atomic<bool> wanted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "it is set in a signal handler");

void on_signal(int) { wanted = true; }

}  // namespace

InterruptGuard::InterruptGuard() {
  wanted = false;
  struct sigaction action {};
  action.sa_handler = on_signal;
  // One shot: the second signal finds the default action.
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &old_interrupt_);
  ::sigaction(SIGTERM, &action, &old_terminate_);
}

InterruptGuard::~InterruptGuard() {
  ::sigaction(SIGINT, &old_interrupt_, nullptr);
  ::sigaction(SIGTERM, &old_terminate_, nullptr);
}

bool InterruptGuard::requested() { return wanted; }

}  // namespace wavetune::search
