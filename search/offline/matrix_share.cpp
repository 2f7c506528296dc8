#include "search/offline/matrix_share.h"

#include <spdlog/spdlog.h>

#include "db/base/error.h"
#include "runtime/isa/code_object.h"
#include "runtime/isa/disassembler.h"
#include "runtime/isa/kernel_report.h"

namespace wavetune::search {

std::optional<double> matrix_share(const templates::Operator& op, const templates::Problem& problem,
                                   const templates::Config& config, std::span<const std::byte> code) {
  // Only products have matrix instructions in a loop that decides their time.
  if (op.name() != "gemm" && op.name() != "grouped_gemm") return std::nullopt;
  try {
    const std::vector<templates::Launch> launches = templates::dry_launches(op, problem, config);
    const isa::CodeObject object = isa::read_code_object(code, problem.key());
    const auto instructions = isa::disassemble(object, object.kernel(launches.front().kernel));
    const isa::IssueCycles cycles = isa::report_loop(instructions, object.arch).cycles;
    if (cycles.matrix == 0) return std::nullopt;
    return cycles.overlapped_share();
  } catch (const Error& error) {
    static const bool said = [&error] {
      spdlog::warn("shortlists are ranked without a look at the machine code: {}", error.what());
      return true;
    }();
    (void)said;
    return std::nullopt;
  }
}

}  // namespace wavetune::search
