// A device's peak rates: the roofline's denominators.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/hip/provider.h"
#include "runtime/jit/compile_service.h"
#include "search/measure/measure_client.h"

namespace wavetune::search {

/// Bandwidth of a copy on the device, and the rate of chains of fused multiply-adds (on GPUs also of matrix tiles),
/// best of several runs: what simple kernels reach, not a data sheet's figure. Measured at each call (about a second)
/// and merged with the best of earlier calls, which is kept in `cache_directory` (empty: the code cache's) under the
/// environment's hash: a machine that was busy once does not lower the roofline for ever. Throws Error device when it
/// cannot be measured.
measure::DevicePeak device_peaks(const hip::Provider& provider, const std::string& device_spec,
                                 jit::CompileService& compiler, measure::MeasureClient& client,
                                 const std::filesystem::path& cache_directory = {});

/// What earlier calls kept for this provider's first device; nothing when there was none on this machine. Measures
/// nothing.
std::optional<measure::DevicePeak> kept_peaks(const hip::Provider& provider,
                                              const std::filesystem::path& cache_directory = {});

}  // namespace wavetune::search
