#include "db/published_time.h"

#include <cmath>

#include "db/base/error.h"
#include "db/base/time.h"
#include "db/rows.h"
#include "db/sqlite/statement.h"

namespace wavetune::db {

PublishCounts add_published(sqlite::Connection& connection, std::span<const PublishedTime> rows) {
  PublishCounts counts;
  const std::string now = utc_now();
  sqlite::Statement find(connection,
                         "SELECT 1 FROM published_times WHERE implementation = ?1 AND header = ?2 AND line = ?3");
  sqlite::Statement insert(connection,
                           "INSERT INTO published_times (implementation, arch, cu_count, problem_id, us, kernel, "
                           "header, line, origin, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
  for (const PublishedTime& row : rows) {
    if (!(std::isfinite(row.us) && row.us > 0)) {
      fail(ErrorKind::internal, "published time of {} for {} is {} us", row.implementation, row.problem.key(), row.us);
    }
    const bool known = find.bind(row.implementation, row.header, row.line).step();
    find.reset();
    if (known) {
      ++counts.known;
      continue;
    }
    insert
        .bind(row.implementation, row.arch, row.cu_count, problem_id(connection, row.problem), row.us, row.kernel,
              row.header, row.line, row.origin, row.created_at.empty() ? now : row.created_at)
        .run();
    ++counts.added;
  }
  return counts;
}

std::vector<PublishedTime> read_published(sqlite::Connection& connection, std::string_view arch, int cu_count) {
  sqlite::Statement query(connection,
                          "SELECT t.implementation, t.arch, t.cu_count, p.op, p.dtype, p.dims, t.us, t.kernel, "
                          "t.header, t.line, t.origin, t.created_at FROM published_times t "
                          "JOIN problems p ON p.id = t.problem_id "
                          "WHERE (?1 = '' OR t.arch = ?1) AND (?2 = 0 OR t.cu_count = ?2) ORDER BY t.id");
  query.bind(arch, cu_count);
  std::vector<PublishedTime> rows;
  while (query.step()) {
    rows.push_back({query.text(0),
                    query.text(1),
                    static_cast<int>(query.integer(2)),
                    {query.text(3), query.text(4), named_ints_from_text(query.text(5))},
                    query.real(6),
                    query.text(7),
                    query.text(8),
                    query.text(9),
                    query.text(10),
                    query.text(11)});
  }
  return rows;
}

}  // namespace wavetune::db
