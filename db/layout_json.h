// The table of a layout as JSON: how it lies in the database and in exports.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "db/json_reader.h"
#include "db/layout.h"

namespace wavetune::db {

nlohmann::json rows_to_json(const std::vector<LayoutRow>& rows);
nlohmann::json load_to_json(const std::vector<LoadPoint>& load);

/// Throws Error bad_data with the path of what is missing or wrong.
std::vector<LayoutRow> rows_from_json(const JsonReader& json);

}  // namespace wavetune::db
