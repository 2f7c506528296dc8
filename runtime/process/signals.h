// SIGPIPE, kept from ending the process while this thread writes to a pipe whose reader may be gone.
#pragma once

#include <signal.h>

namespace wavetune::process {

/// Blocks SIGPIPE in this thread; a pending one that arose meanwhile is taken away before it is unblocked.
class SigpipeBlocked {
 public:
  SigpipeBlocked();
  ~SigpipeBlocked();
  SigpipeBlocked(const SigpipeBlocked&) = delete;
  SigpipeBlocked& operator=(const SigpipeBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace wavetune::process
