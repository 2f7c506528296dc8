#include "db/earlier_trials.h"

#include "db/rows.h"
#include "db/sqlite/statement.h"

namespace wavetune::db {

std::vector<Config> read_earlier_best(sqlite::Connection& connection, const Environment& environment,
                                      const Problem& problem, std::string_view source_hash, int most) {
  sqlite::Statement query(
      connection,
      "SELECT c.text FROM newest_measurements m JOIN configurations c ON c.id = m.configuration_id "
      "WHERE m.environment_id = ?1 AND m.problem_id = ?2 AND m.source_id <> ?3 AND m.outcome = 'ok' "
      "GROUP BY m.configuration_id ORDER BY min(m.median_us), c.text LIMIT ?4");
  query.bind(find_environment(connection, environment), find_problem(connection, problem),
             find_source(connection, source_hash), static_cast<std::int64_t>(most));
  std::vector<Config> configs;
  while (query.step()) configs.push_back(named_ints_from_text(query.text(0)));
  return configs;
}

}  // namespace wavetune::db
