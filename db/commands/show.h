// What `wavetune db show` prints.
#pragma once

#include <string>
#include <string_view>

#include "db/database.h"

namespace wavetune::db {

/// Tables for people: for each environment its trials counted by outcome and its winners, then the layouts
/// and how many times others publish. `op` limits all but layouts to one operator when it is not empty.
std::string show_as_text(const Database& database, std::string_view op);

/// The same facts for programs: {"environments": [{..., "trials": {op: {outcome: count}}, "winners": [...]}],
/// "layouts": [...], "published": [{..., "op", "dtype", "rows"}]}.
std::string show_as_json(const Database& database, std::string_view op);

}  // namespace wavetune::db
