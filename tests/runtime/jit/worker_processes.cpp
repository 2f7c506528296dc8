#include "worker_processes.h"

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace wavetune::test {

std::vector<pid_t> compile_workers(pid_t host) {
  std::vector<pid_t> found;
  for (const auto& item : std::filesystem::directory_iterator("/proc")) {
    const std::string name = item.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream stat(item.path() / "stat");
    std::ifstream line(item.path() / "cmdline");
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    const std::string words((std::istreambuf_iterator<char>(line)), {});
    const std::size_t close = text.rfind(')');
    if (close == std::string::npos || words.find("__compile-worker") == std::string::npos) continue;
    char state = 0;
    int parent = 0;
    if (std::sscanf(text.c_str() + close + 1, " %c %d", &state, &parent) == 2 && parent == host)
      found.push_back(std::stoi(name));
  }
  return found;
}

int alive_in_groups(const std::vector<pid_t>& leaders) {
  int count = 0;
  for (const pid_t leader : leaders) count += ::kill(-leader, 0) == 0 ? 1 : 0;
  return count;
}

}  // namespace wavetune::test
