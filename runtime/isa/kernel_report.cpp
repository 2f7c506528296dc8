#include "runtime/isa/kernel_report.h"

#include <numeric>

#include "runtime/isa/loops.h"
#include "runtime/isa/matrix_instruction.h"

namespace wavetune::isa {
namespace {

constexpr double lanes = 64;

}  // namespace

LoopReport report_loop(std::span<const Instruction> kernel, std::string_view arch) {
  LoopReport report;
  const std::vector<Loop> loops = find_loops(kernel);
  if (const Loop* loop = hottest_loop(kernel, loops)) {
    report.is_loop = true;
    report.depth = loop->depth;
    // Its own instructions only: how often a nested loop runs is not known.
    report.body = loop->own;
  } else {
    report.body.resize(kernel.size());
    std::iota(report.body.begin(), report.body.end(), std::size_t{0});
  }
  std::vector<Instruction> body;
  for (const std::size_t i : report.body) body.push_back(kernel[i]);
  if (body.empty()) return report;
  report.begin = body.front().address;
  report.end = body.back().address + static_cast<std::uint64_t>(body.back().size);
  report.instructions = static_cast<int>(body.size());
  for (const Instruction& instruction : body) {
    ++report.counts[static_cast<std::size_t>(instruction.kind)];
    if (const auto shape = matrix_shape(instruction)) report.flops += shape->flops();
    const double bytes = bytes_per_lane(instruction) * lanes;
    if (instruction.kind == Kind::global_load || instruction.kind == Kind::global_to_lds) report.global_bytes += bytes;
    if (instruction.kind == Kind::lds) report.lds_bytes += bytes;
  }
  report.cycles = model_issue(body, arch);
  return report;
}

}  // namespace wavetune::isa
