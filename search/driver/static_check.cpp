#include "search/driver/static_check.h"

#include <algorithm>

#include "db/base/error.h"
#include "runtime/hip/cuda/cuda_target.h"
#include "runtime/isa/code_object.h"
#include "runtime/isa/sm_occupancy.h"

namespace wavetune::search {
namespace {

std::optional<isa::CodeObject> read(std::span<const std::byte> code, const db::Problem& problem) {
  try {
    return isa::read_code_object(code, problem.key());
  } catch (const Error&) {
    return std::nullopt;  // the figures only inform; the driver will say what is wrong with the file
  }
}

/// Local memory of a thread on NVIDIA lies behind L1, and a few words of it cost nothing that a measurement would show.
constexpr int harmless_stack_bytes = 64;

std::optional<std::string> spilling(const isa::KernelCode& kernel, bool nvidia) {
  const int spills = kernel.resources.spills.value_or(0);
  const int scratch = kernel.resources.scratch_bytes.value_or(0);
  if (nvidia && scratch <= harmless_stack_bytes) return std::nullopt;
  if (spills > 0) return fmt::format("{} spills {} registers ({} bytes of scratch)", kernel.name, spills, scratch);
  if (scratch > 0) return fmt::format("{} keeps {} bytes of private memory in scratch", kernel.name, scratch);
  return std::nullopt;
}

}  // namespace

StaticCheck check_statically(const templates::Operator& op, const db::Problem& problem, const db::Config& config,
                             std::span<const std::byte> code, const templates::DeviceLimits& limits) {
  StaticCheck result;
  if (!isa::occupancy_on(limits.arch, {})) return result;
  const bool nvidia = hip::cuda::is_arch(limits.arch);
  const std::optional<isa::CodeObject> object = read(code, problem);
  if (!object) return result;
  std::optional<int> fewest;
  std::optional<std::string> spills;
  std::vector<templates::Launch> launches;
  try {
    launches = templates::dry_launches(op, problem, config);
  } catch (const Error& error) {
    // Sizes of kernels from outside are expressions that a configuration can make senseless.
    return {db::Outcome::launch_error, error.what(), std::nullopt};
  }
  for (const templates::Launch& launch : launches) {
    const auto kernel = std::find_if(object->kernels.begin(), object->kernels.end(),
                                     [&](const isa::KernelCode& k) { return k.name == launch.kernel; });
    if (kernel == object->kernels.end()) continue;
    const int threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
    if (kernel->max_threads > 0 && threads > kernel->max_threads) {
      return {
          db::Outcome::resource_limit,
          fmt::format("{}: blocks of {} threads, compiled for at most {}", launch.kernel, threads, kernel->max_threads),
          std::nullopt};
    }
    const isa::OccupancyResult fits = *isa::occupancy_on(
        limits.arch, isa::block_needs(kernel->resources, threads, static_cast<int>(launch.lds_bytes)));
    if (const auto* misfit = std::get_if<isa::NotResident>(&fits))
      return {db::Outcome::resource_limit, launch.kernel + ": " + misfit->reason(), std::nullopt};
    const int waves = std::get<isa::Occupancy>(fits).waves_per_simd;
    fewest = std::min(fewest.value_or(waves), waves);
    if (!spills) spills = spilling(*kernel, nvidia);
  }
  result.occupancy = fewest;
  if (spills) {
    result.outcome = db::Outcome::pruned;
    result.reason = *spills;
  }
  return result;
}

}  // namespace wavetune::search
