#include "runtime/jit/ptxas_report.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace wavetune::jit {
namespace {

constexpr int register_bytes = 4;

/// N of "... N bytes spill stores ..."; -1 where the line does not say it.
int spilled_bytes(std::string_view line) {
  const std::size_t end = line.find(" bytes spill stores");
  if (end == std::string_view::npos) return -1;
  const std::size_t begin = line.rfind(' ', end - 1) + 1;
  int bytes = 0;
  const auto [stop, error] = std::from_chars(line.data() + begin, line.data() + end, bytes);
  return error == std::errc{} && stop == line.data() + end ? bytes : -1;
}

/// "ptxas info    : Used 64 registers", and "ptxas         .     440 bytes stack frame" that goes on from it (older
/// ones write blanks instead of all in front of the dot).
bool is_report(std::string_view line) {
  return line.starts_with("ptxas info ") || line.find(" bytes stack frame, ") != std::string_view::npos;
}

}  // namespace

void take_ptxas_report(std::string& log, db::Resources& resources) {
  std::string kept;
  for (std::size_t begin = 0; begin < log.size();) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    const std::string_view line = std::string_view(log).substr(begin, end - begin);
    if (const int bytes = spilled_bytes(line); bytes >= 0)
      resources.spills = std::max(resources.spills.value_or(0), (bytes + register_bytes - 1) / register_bytes);
    if (!is_report(line)) kept.append(line).append(end < log.size() ? "\n" : "");
    begin = end + 1;
  }
  // What is left between the reports is blank.
  if (kept.find_first_not_of('\n') == std::string::npos) kept.clear();
  log = std::move(kept);
}

}  // namespace wavetune::jit
