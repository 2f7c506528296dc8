// What serving starts from: a tuning database, an export or frozen bundle of one, or the tuned set that comes with the
// program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "db/database.h"
#include "runtime/kernels/kernel_cache.h"

namespace wavetune::engine {

struct TuningSource {
  kernels::WinnerIndex winners;
  std::optional<db::Layout> layout;  ///< the newest for this model and number of devices
  kernels::CodeLookup code;          ///< of winners; empty where there is none
  std::string description;           ///< for the user; empty when there is nothing
  std::int64_t stale = 0;            ///< winners of a bundle whose code this executable's kernel sources rule out
};

/// `file` is a database, a frozen bundle or a JSON export; without one the tuned set for this device, if there is one.
/// Throws Error not_found, bad_data (a bundle's hash does not fit its content), incompatible (a bundle for another
/// architecture).
TuningSource open_tuning(const std::optional<std::filesystem::path>& file, const db::Environment& environment,
                         const std::string& model_id, int devices);

}  // namespace wavetune::engine
