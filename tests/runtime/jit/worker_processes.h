// Which compile workers run, as the system sees it.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <vector>

namespace wavetune::test {

/// Process ids of the compile workers that a process (this one) started.
std::vector<pid_t> compile_workers(pid_t host = ::getpid());

/// How many of these processes lead a group in which something still runs: they, or what they started.
int alive_in_groups(const std::vector<pid_t>& leaders);

}  // namespace wavetune::test
