// db::Resources in messages and cache entries.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "db/trial.h"

namespace wavetune::jit {

/// Only what is known is written.
nlohmann::json resources_to_json(const db::Resources& resources);
/// Unknown and missing fields are left empty.
db::Resources resources_from_json(const nlohmann::json& json);

}  // namespace wavetune::jit
