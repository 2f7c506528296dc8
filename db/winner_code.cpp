#include "db/winner_code.h"

#include <zlib.h>

#include "db/base/error.h"
#include "db/base/hash.h"
#include "db/rows.h"
#include "db/sqlite/statement.h"

namespace wavetune::db {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::byte> deflated(std::span<const std::byte> bytes) {
  uLongf size = compressBound(bytes.size());
  std::vector<std::byte> out(size);
  const int code = compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                             bytes.size(), Z_DEFAULT_COMPRESSION);
  if (code != Z_OK) fail(ErrorKind::internal, "zlib cannot compress {} bytes: {}", bytes.size(), zError(code));
  out.resize(size);
  return out;
}

std::optional<std::vector<std::byte>> inflated(std::span<const std::byte> bytes, std::size_t expected) {
  // A damaged row may claim any size; deflate gains at most a factor of 1032.
  if (expected > bytes.size() * 1100 + 64) return std::nullopt;
  std::vector<std::byte> out(expected);
  uLongf size = expected;
  const int code = uncompress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                              bytes.size());
  if (code != Z_OK || size != expected) return std::nullopt;
  return out;
}

struct Row {
  std::int64_t trial = 0;
  std::string configuration;
};

std::optional<Row> winner_row(sqlite::Connection& connection, std::int64_t environment, std::int64_t problem) {
  sqlite::Statement query(connection,
                          "SELECT id, configuration FROM winners WHERE environment_id = ?1 AND problem_id = ?2");
  if (!query.bind(environment, problem).step()) return std::nullopt;
  return Row{query.integer(0), query.text(1)};
}

}  // namespace

bool put_winner_code(sqlite::Connection& connection, const Environment& environment, const Problem& problem,
                     const WinnerCode& winner) {
  const std::int64_t environment_row = environment_id(connection, environment);
  const std::int64_t problem_row = problem_id(connection, problem);
  const std::optional<Row> row = winner_row(connection, environment_row, problem_row);
  if (!row || row->configuration != to_text(winner.config)) return false;
  const std::string hash = content_hash(text_of(winner.code));
  sqlite::Statement known(connection, "SELECT 1 FROM code_objects WHERE hash = ?1");
  if (!known.bind(hash).step()) {
    const std::vector<std::byte> packed = deflated(winner.code);
    sqlite::Statement(connection,
                      "INSERT INTO code_objects (hash, arch, compiler, compiler_version, bytes, code) "
                      "VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
        .bind(hash, environment.arch, environment.compiler, environment.compiler_version,
              static_cast<std::int64_t>(winner.code.size()), std::span<const std::byte>(packed))
        .run();
  }
  sqlite::Statement(connection,
                    "DELETE FROM trial_code WHERE trial_id IN "
                    "(SELECT id FROM measurements WHERE environment_id = ?1 AND problem_id = ?2)")
      .bind(environment_row, problem_row)
      .run();
  sqlite::Statement(connection, "INSERT INTO trial_code (trial_id, code_hash, request_key) VALUES (?1, ?2, ?3)")
      .bind(row->trial, hash, winner.request_key)
      .run();
  sqlite::Statement(connection, "DELETE FROM code_objects WHERE hash NOT IN (SELECT code_hash FROM trial_code)").run();
  return true;
}

std::optional<std::string> winner_code_key(sqlite::Connection& connection, const Environment& environment,
                                           const Problem& problem) {
  sqlite::Statement query(connection,
                          "SELECT c.request_key FROM winners w JOIN trial_code c ON c.trial_id = w.id "
                          "WHERE w.environment_id = ?1 AND w.op = ?2 AND w.dtype = ?3 AND w.dims = ?4");
  query.bind(find_environment(connection, environment), problem.op, problem.dtype, to_text(problem.dims));
  if (!query.step()) return std::nullopt;
  return query.text(0);
}

std::optional<std::vector<std::byte>> find_code(sqlite::Connection& connection, std::string_view request_key) {
  sqlite::Statement query(
      connection,
      "SELECT o.hash, o.bytes, o.code FROM trial_code c JOIN code_objects o ON o.hash = c.code_hash "
      "WHERE c.request_key = ?1 ORDER BY o.hash LIMIT 1");
  if (!query.bind(request_key).step()) return std::nullopt;
  auto code = inflated(query.bytes(2), static_cast<std::size_t>(query.integer(1)));
  if (!code || content_hash(text_of(*code)) != query.text(0)) return std::nullopt;
  return code;
}

CodeTotals code_totals(sqlite::Connection& connection) {
  sqlite::Statement query(connection, "SELECT count(*), ifnull(sum(length(code)), 0) FROM code_objects");
  query.step();
  return {query.integer(0), query.integer(1)};
}

}  // namespace wavetune::db
