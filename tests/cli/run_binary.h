// Runs the built executable as a user would, and gives back what the user would see.
#pragma once

#include <string>
#include <vector>

namespace wavetune::test {

struct RunResult {
  int exit_code = -1;  ///< -1 when a signal ended it
  std::string out;     ///< stdout
  std::string err;     ///< stderr
};

/// Runs WAVETUNE_BINARY with these arguments and waits.
RunResult run_wavetune(const std::vector<std::string>& arguments);

/// Lines of a text, without the empty last one.
std::vector<std::string> lines_of(const std::string& text);

}  // namespace wavetune::test
