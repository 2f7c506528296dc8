// A measurement and its circumstances: the rows of the database as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/problem.h"

namespace wavetune::db {

/// On what a trial was made. Two trials compare only when these are equal.
struct Environment {
  std::string device;            ///< marketing name, e.g. "AMD Instinct MI355X"
  std::string arch;              ///< "gfx950", "sm_90", "cpu-x86-64-v4"
  int cu_count = 0;              ///< compute units (SMs, cores) the device shows
  std::string driver;            ///< provider and version of the driver or runtime library
  std::string compiler;          ///< "hiprtc", "nvrtc", "g++"
  std::string compiler_version;  ///< "7.2"

  auto operator<=>(const Environment&) const = default;
};

/// How a trial ended. Only `ok` carries a time and can win.
enum class Outcome {
  ok,
  compile_error,    ///< the compiler rejected the source
  compile_crash,    ///< the compiler died
  compile_timeout,  ///< the compiler took longer than allowed
  resource_limit,   ///< the code object needs more registers, LDS or threads than the device has
  launch_error,     ///< the driver refused the launch
  fault,            ///< the measuring process died (memory fault, sanitizer report)
  timeout,          ///< the kernel did not come back in time
  wrong,            ///< ran, but the numbers differ from the reference
  pruned,           ///< not run: what its code object says (spills, scratch) already rules it out
};
inline constexpr Outcome all_outcomes[] = {Outcome::ok,
                                           Outcome::compile_error,
                                           Outcome::compile_crash,
                                           Outcome::compile_timeout,
                                           Outcome::resource_limit,
                                           Outcome::launch_error,
                                           Outcome::fault,
                                           Outcome::timeout,
                                           Outcome::wrong,
                                           Outcome::pruned};

std::string_view to_string(Outcome outcome);
/// Inverse of to_string; nothing for an unknown word.
std::optional<Outcome> outcome_from_string(std::string_view word);

/// What the code object says of itself; absent where the target does not tell (CPU).
struct Resources {
  std::optional<int> vgpr, agpr, sgpr;
  std::optional<int> lds_bytes, scratch_bytes, spills;
  std::optional<int> occupancy;  ///< waves per SIMD of the launch that has fewest

  bool operator==(const Resources&) const = default;
};

/// How the device was while the samples were taken; absent where it does not tell (CPU).
struct DeviceState {
  std::optional<int> clock_mhz;      ///< of the compute units, median over the samples
  std::optional<int> power_w;        ///< of the whole board, the highest seen
  std::optional<int> temperature_c;  ///< the highest seen
  std::optional<int> throttled;      ///< samples that were taken again, since the clock had fallen

  bool operator==(const DeviceState&) const = default;
};

/// One configuration, tried once. A configuration may be tried again (finalists are, interleaved with each other): its
/// newest trial is the one that counts.
struct Trial {
  Problem problem;
  Config config;
  std::string source_hash;  ///< content hash of the template's sources; a trial of other sources cannot win
  Outcome outcome = Outcome::ok;
  double median_us = 0;            ///< over samples_us; 0 unless outcome is ok
  std::vector<double> samples_us;  ///< one launch each, in the order measured
  double compile_ms = 0;
  double max_error = 0;  ///< worst deviation from the reference, in units of the tolerance (1 = at the limit);
                         ///< not finite: stored as infinity
  Resources resources;
  DeviceState state;
  std::string error;       ///< compiler log or driver text when outcome is not ok
  std::string created_at;  ///< ISO 8601 UTC; filled by Database::add_trial when empty
  std::string machine;     ///< host and device that it was made on, "node7:0"; empty: not recorded
};

/// The best `ok` trial of a problem in one environment with current sources.
struct Winner {
  Problem problem;
  Config config;
  double median_us = 0;
  Resources resources;
  std::string source_hash;
};

}  // namespace wavetune::db
