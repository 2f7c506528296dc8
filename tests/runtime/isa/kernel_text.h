// Kernels for tests, written as assembly with labels.
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/isa/instruction.h"

namespace wavetune::test {

/// One instruction a line, each 4 bytes; "name:" alone on a line is a label, which branches name as their operand.
inline std::vector<isa::Instruction> kernel_of(std::string_view text, std::uint64_t base = 0x1000) {
  std::map<std::string, std::uint64_t> labels;
  std::vector<std::string> lines;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    line = line.substr(begin);
    if (line.ends_with(':')) {
      labels[line.substr(0, line.size() - 1)] = base + 4 * lines.size();
    } else {
      lines.push_back(line);
    }
  }
  std::vector<isa::Instruction> kernel;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::uint64_t address = base + 4 * i;
    std::string line = lines[i];
    if (const std::size_t gap = line.find(' '); gap != std::string::npos) {
      if (const auto label = labels.find(line.substr(gap + 1)); label != labels.end()) {
        const std::int64_t words =
            (static_cast<std::int64_t>(label->second) - static_cast<std::int64_t>(address + 4)) / 4;
        line = line.substr(0, gap + 1) + std::to_string(words < 0 ? words + 0x10000 : words);
      }
    }
    kernel.push_back(isa::parse_instruction(address, 4, line));
  }
  return kernel;
}

}  // namespace wavetune::test
