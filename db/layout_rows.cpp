#include "db/layout_rows.h"

#include <nlohmann/json.hpp>

#include "db/base/error.h"
#include "db/base/time.h"
#include "db/layout_json.h"
#include "db/rows.h"
#include "db/sqlite/statement.h"

namespace wavetune::db {

void insert_layout(sqlite::Connection& connection, const Environment& environment, const Layout& layout) {
  const std::int64_t environment_row = environment_id(connection, environment);
  sqlite::Statement insert(connection,
                           "INSERT INTO layouts (environment_id, model_id, model_name, devices, objective, tp, dp, "
                           "candidates, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
  insert.bind(environment_row, layout.model_id, layout.model_name, layout.devices, to_string(layout.objective),
              layout.tp, layout.dp, rows_to_json(layout.table).dump(),
              layout.created_at.empty() ? utc_now() : layout.created_at);
  insert.run();
}

bool has_layout(sqlite::Connection& connection, std::int64_t environment, const Layout& layout) {
  sqlite::Statement find(
      connection,
      "SELECT 1 FROM layouts WHERE environment_id=?1 AND model_id=?2 AND devices=?3 AND objective=?4 AND "
      "created_at=?5 AND tp=?6 AND dp=?7");
  return find
      .bind(environment, layout.model_id, layout.devices, to_string(layout.objective), layout.created_at, layout.tp,
            layout.dp)
      .step();
}

std::optional<Layout> newest_layout(sqlite::Connection& connection, const Environment& environment,
                                    std::string_view model_id, int devices, std::string_view objective) {
  sqlite::Statement query(connection,
                          fmt::format("SELECT {} FROM layouts l JOIN environments e ON e.id = l.environment_id WHERE "
                                      "e.device = ?1 AND e.arch = ?2 AND e.cu_count = ?3 AND l.model_id = ?4 AND "
                                      "l.devices = ?5 AND ?6 IN ('', l.objective) "
                                      "ORDER BY l.created_at DESC, l.objective, l.tp, l.dp, l.id DESC LIMIT 1",
                                      LayoutColumns::names));
  query.bind(environment.device, environment.arch, environment.cu_count, model_id, devices, objective);
  if (!query.step()) return std::nullopt;
  return LayoutColumns::read(query, 0);
}

}  // namespace wavetune::db
