// Rows of table layouts, as the functions of rows.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "db/layout.h"
#include "db/sqlite/connection.h"
#include "db/trial.h"

namespace wavetune::db {

/// Inside a transaction. An empty created_at becomes now.
void insert_layout(sqlite::Connection& connection, const Environment& environment, const Layout& layout);
/// Whether one of this environment (row id), model, devices, objective, degrees and creation is there.
bool has_layout(sqlite::Connection& connection, std::int64_t environment, const Layout& layout);
/// The newest for a model on so many devices of this name, architecture and number of compute units; of any objective
/// when `objective` is empty.
std::optional<Layout> newest_layout(sqlite::Connection& connection, const Environment& environment,
                                    std::string_view model_id, int devices, std::string_view objective);

}  // namespace wavetune::db
