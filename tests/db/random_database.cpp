#include "random_database.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "db/database.h"
#include "db/layout_rows.h"
#include "db/rows.h"
#include "db/sqlite/statement.h"
#include "db/sqlite/transaction.h"
#include "fixtures.h"

namespace wavetune::db {
namespace {

class Generator {
 public:
  Generator(sqlite::Connection& connection, std::mt19937& random) : connection_(connection), random_(random) {}

  void fill() {
    // Ids differ between databases that say the same.
    for (int i = below(3); i > 0; --i) environment_id(connection_, environment());
    for (int i = below(3); i > 0; --i) problem_id(connection_, problem());
    for (int i = 1 + below(5); i > 0; --i) add_trial();
    for (int i = below(3); i > 0; --i) add_source();
    for (int i = below(3); i > 0; --i) add_offline();
    for (int i = below(2); i > 0; --i) add_layout();
    for (int i = below(3); i > 0; --i) add_code();
    for (int i = below(2); i > 0; --i) add_verdict();
    for (int i = below(2); i > 0; --i) add_published();
  }

 private:
  int below(int limit) { return std::uniform_int_distribution(0, limit - 1)(random_); }
  std::string time() { return fmt::format("2026-08-01T00:00:00.00{}Z", below(3)); }
  std::string hash() { return below(2) == 0 ? "aaaa" : "bbbb"; }
  Environment environment() {
    Environment environment = example_environment();
    environment.compiler_version = fmt::format("7.{}", below(2));
    return environment;
  }
  Problem problem() { return {below(4) == 0 ? "rope" : "gemm", "bf16", {{"m", 1 + below(2)}}}; }
  Config config() { return {{"bm", 16 << below(2)}}; }

  void add_trial() {
    Trial trial = example_trial();
    trial.problem = problem();
    trial.config = config();
    trial.source_hash = hash();
    trial.created_at = time();
    trial.machine = std::array{"", "node1:0", "node2:0"}[static_cast<std::size_t>(below(3))];
    if (below(4) == 0) {
      trial.outcome = Outcome::wrong;
      trial.median_us = 0;
      trial.error = below(2) == 0 ? "off" : "off by one";
    } else {
      trial.median_us = 10 + below(2);
    }
    trial.samples_us = below(2) == 0 ? std::vector<double>{} : std::vector<double>{10.0 + below(2)};
    if (below(3) == 0) trial.resources.vgpr.reset();
    const Environment where = environment();
    sqlite::Statement known(
        connection_,
        "SELECT 1 FROM trials WHERE environment_id = ?1 AND problem_id = ?2 AND configuration = ?3 "
        "AND source_hash = ?4 AND outcome = ?5 AND median_us = ?6 AND created_at = ?7 AND machine = "
        "?8");
    known.bind(environment_id(connection_, where), problem_id(connection_, trial.problem), to_text(trial.config),
               trial.source_hash, to_string(trial.outcome), trial.median_us, trial.created_at, trial.machine);
    if (!known.step()) insert_trial(connection_, where, trial);
  }

  void add_source() {
    sqlite::Statement(connection_, "INSERT OR REPLACE INTO sources (op, current_hash, said_at) VALUES (?1, ?2, ?3)")
        .bind(problem().op, hash(), below(3) == 0 ? std::string() : time())
        .run();
  }

  void add_offline() {
    OfflineTrial trial;
    trial.problem = problem();
    trial.config = config();
    trial.source_hash = hash();
    trial.predicted_us = 1 + below(2);
    trial.compile_ms = below(3);
    trial.created_at = time();
    Environment where = environment();
    where.device = offline_device;
    put_offline_trial(connection_, where, trial);
  }

  void add_layout() {
    Layout layout = example_layout();
    layout.tp = 1 << below(2);
    layout.created_at = time();
    layout.model_name = below(2) == 0 ? "GLM-5.2" : "renamed";
    insert_layout(connection_, environment(), layout);
  }

  void add_code() {
    const std::string code = fmt::format("code {}", below(3));
    const Environment where = environment();
    const Problem what = problem();
    for (int bm = 16; bm <= 32; bm *= 2) {
      put_winner_code(connection_, where, what,
                      {{{"bm", bm}}, fmt::format("key {}", below(3)), std::as_bytes(std::span(code))});
    }
  }

  void add_verdict() {
    sqlite::Statement(connection_,
                      "INSERT OR IGNORE INTO verdicts (environment_id, problem_id, configuration_id, verdict, reason, "
                      "created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
        .bind(environment_id(connection_, environment()), problem_id(connection_, problem()),
              configuration_id(connection_, to_text(config())), std::string(below(2) == 0 ? "pin" : "ban"),
              std::string("because"), time())
        .run();
  }

  void add_published() {
    sqlite::Statement(connection_,
                      "INSERT OR IGNORE INTO published_times (implementation, arch, cu_count, problem_id, us, kernel, "
                      "header, line, origin, created_at) VALUES ('aiter', 'gfx950', 256, ?1, ?2, 'k', 'M,N', ?3, ?4, "
                      "?5)")
        .bind(problem_id(connection_, example_problem()), 5.0, fmt::format("1,{}", below(2)),
              std::string(below(2) == 0 ? "a.csv" : "b.csv"), time())
        .run();
  }

  sqlite::Connection& connection_;
  std::mt19937& random_;
};

}  // namespace

void fill_randomly(sqlite::Connection& connection, std::mt19937& random) {
  sqlite::Transaction transaction(connection);
  Generator(connection, random).fill();
  transaction.commit();
}

}  // namespace wavetune::db
