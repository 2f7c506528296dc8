#include "runtime/process/signals.h"

#include <ctime>

namespace wavetune::process {
namespace {

sigset_t only_sigpipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  return set;
}

}  // namespace

SigpipeBlocked::SigpipeBlocked() {
  const sigset_t set = only_sigpipe();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
}

SigpipeBlocked::~SigpipeBlocked() {
  if (sigismember(&before_, SIGPIPE) == 0) {
    const sigset_t set = only_sigpipe();
    const timespec at_once{0, 0};
    while (sigtimedwait(&set, nullptr, &at_once) == SIGPIPE) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace wavetune::process
