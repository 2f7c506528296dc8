#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "db/base/error.h"
#include "db/base/hash.h"
#include "db/health/checks.h"
#include "db/rows.h"
#include "db/samples.h"
#include "db/schema.h"
#include "db/sqlite/statement.h"
#include "db/winner_code.h"

namespace wavetune::db {
namespace {

/// What is wrong with a row; nothing when it is sound.
using Complaint = std::function<std::optional<std::string>(const sqlite::Statement& row)>;

/// One finding for all rows of `sql` (its first column is the row's id) that have something wrong.
void check_rows(sqlite::Connection& connection, std::vector<Finding>& findings, const std::string& what,
                const std::string& sql, const Complaint& complaint) {
  Finding finding{Severity::corrupt, what, 0, "", restore};
  sqlite::Statement rows(connection, sql);
  while (rows.step()) {
    std::optional<std::string> wrong;
    try {
      wrong = complaint(rows);
    } catch (const Error& error) {
      wrong = error.what();
    }
    if (wrong && ++finding.count == 1) finding.why = fmt::format("row {}: {}", rows.integer(0), *wrong);
  }
  if (finding.count > 1) finding.why += fmt::format(" (and {} more)", finding.count - 1);
  if (finding.count > 0) findings.push_back(std::move(finding));
}

std::optional<std::string> wrong_with_trial(const sqlite::Statement& row) {
  const std::string word = row.text(1);
  const auto outcome = outcome_from_string(word);
  if (!outcome) return fmt::format("unknown outcome '{}'", word);
  const double median_us = row.real(2);
  if (*outcome == Outcome::ok && !(std::isfinite(median_us) && median_us > 0)) {
    return fmt::format("ok, with the time {} us", median_us);
  }
  if (!row.is_blob(3)) return "samples that are not numbers";
  for (const double sample : unpack_samples(row.bytes(3))) {
    if (!std::isfinite(sample)) return fmt::format("a sample of {} us", sample);
  }
  return std::nullopt;
}

std::optional<std::string> wrong_with_configuration(const sqlite::Statement& row) {
  const std::string text = row.text(1);
  if (to_text(named_ints_from_text(text)) != text) return fmt::format("'{}' is not in order", text);
  if (row.integer(2) != text_hash(text)) return fmt::format("'{}' cannot be found: its hash is another text's", text);
  return std::nullopt;
}

std::optional<std::string> wrong_with_problem(const sqlite::Statement& row) {
  const std::string dims = row.text(1);
  if (to_text(named_ints_from_text(dims)) != dims) return fmt::format("'{}' is not in order", dims);
  return std::nullopt;
}

}  // namespace

void find_unreadable_rows(sqlite::Connection& connection, std::vector<Finding>& findings) {
  check_rows(connection, findings, "problems", "SELECT id, dims FROM problems", wrong_with_problem);
  check_rows(connection, findings, "configurations", "SELECT id, text, hash FROM configurations",
             wrong_with_configuration);
  check_rows(connection, findings, "trials", "SELECT id, outcome, median_us, samples_us FROM measurements",
             wrong_with_trial);
  check_rows(connection, findings, "offline trials",
             "SELECT id, outcome, configuration, predicted_us FROM offline_trials",
             [](const sqlite::Statement& row) -> std::optional<std::string> {
               if (!outcome_from_string(row.text(1))) return fmt::format("unknown outcome '{}'", row.text(1));
               named_ints_from_text(row.text(2));
               if (!(row.real(3) > 0)) return fmt::format("a predicted time of {} us", row.real(3));
               return std::nullopt;
             });
  check_rows(connection, findings, "verdicts", "SELECT id, verdict FROM verdicts",
             [](const sqlite::Statement& row) -> std::optional<std::string> {
               if (!verdict_from_string(row.text(1))) return fmt::format("unknown verdict '{}'", row.text(1));
               return std::nullopt;
             });
  check_rows(connection, findings, "layouts", fmt::format("SELECT l.id, {} FROM layouts l", LayoutColumns::names),
             [](const sqlite::Statement& row) -> std::optional<std::string> {
               LayoutColumns::read(row, 1);
               return std::nullopt;
             });
  check_rows(connection, findings, "code objects",
             "SELECT c.trial_id, c.request_key FROM trial_code c WHERE c.code_hash IN (SELECT hash FROM code_objects)",
             [&connection](const sqlite::Statement& row) -> std::optional<std::string> {
               if (find_code(connection, row.text(1))) return std::nullopt;
               return "its code cannot be unpacked; it will be compiled again";
             });
}

}  // namespace wavetune::db
