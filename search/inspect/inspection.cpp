#include "search/inspect/inspection.h"

#include <algorithm>

#include "db/base/error.h"
#include "runtime/isa/disassembler.h"
#include "runtime/isa/sm_occupancy.h"

namespace wavetune::search {
namespace {

struct ChipRates {
  std::string_view arch;
  double compute_units;
  double clock_hz;
  double bytes_per_s;
};
/// Peak engine clock and HBM rate: AMD data sheets of MI355X and MI300X.
constexpr ChipRates chips[] = {{"gfx950", 256, 2.4e9, 8.0e12}, {"gfx942", 304, 2.1e9, 5.3e12}};

}  // namespace

KernelInspection inspect_kernel(const isa::CodeObject& object, const isa::KernelCode& kernel, int threads,
                                int dynamic_lds_bytes) {
  const auto occupancy = isa::occupancy_on(object.arch, isa::block_needs(kernel.resources, threads, dynamic_lds_bytes));
  if (!occupancy) {
    fail(ErrorKind::incompatible, "kernel '{}' is compiled for {}; inspect knows gfx950, gfx942 and NVIDIA's sm_*",
         kernel.name, object.arch);
  }
  KernelInspection result;
  result.kernel = kernel.name;
  result.resources = kernel.resources;
  result.threads = threads;
  result.dynamic_lds_bytes = dynamic_lds_bytes;
  result.occupancy = *occupancy;
  if (!isa::cu_limits(object.arch)) return result;
  result.looked_into = true;
  result.instructions = isa::disassemble(object, kernel);
  result.loop = isa::report_loop(result.instructions, object.arch);
  return result;
}

std::optional<Bounds> bounds_of(const templates::Cost& cost, const std::vector<KernelInspection>& kernels,
                                const std::string& arch) {
  double rate = 0;  // of one SIMD, in a cycle
  for (const KernelInspection& kernel : kernels) rate = std::max(rate, kernel.loop.flops_per_matrix_cycle());
  const auto* chip = std::find_if(std::begin(chips), std::end(chips), [&](const auto& c) { return c.arch == arch; });
  if (chip == std::end(chips) || rate <= 0) return std::nullopt;
  Bounds bounds;
  bounds.flops = cost.flops;
  bounds.bytes = cost.bytes;
  bounds.flops_per_s = rate * isa::cu_limits(arch)->simds * chip->compute_units * chip->clock_hz;
  bounds.bytes_per_s = chip->bytes_per_s;
  bounds.arithmetic_us = bounds.flops / bounds.flops_per_s * 1e6;
  bounds.memory_us = bounds.bytes / bounds.bytes_per_s * 1e6;
  return bounds;
}

}  // namespace wavetune::search
