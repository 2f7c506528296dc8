// Ctrl-C as a wish, not an end: what is in flight is finished and kept.
#pragma once

#include <csignal>

namespace wavetune::search {

/// While one exists, the first SIGINT or SIGTERM only sets a flag; the second one ends the process as usual. At most
/// one at a time; the destructor restores the handlers that were there.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// True from the first signal on, until the next guard is made. Any thread.
  static bool requested();

 private:
  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
};

/// Exit code of a command that was interrupted (128 + SIGINT, as shells report it).
inline constexpr int interrupted_exit_code = 130;

}  // namespace wavetune::search
