#include <map>
#include <utility>

#include "db/base/error.h"
#include "db/health/checks.h"
#include "db/rows.h"
#include "db/sqlite/statement.h"
#include "db/verdict.h"

namespace wavetune::db {
namespace {

constexpr const char* gc_drops = "'wavetune db gc' drops them";

void find_unknown_operators(sqlite::Connection& connection, const BuildKnowledge& known,
                            std::vector<Finding>& findings) {
  sqlite::Statement query(connection,
                          "SELECT p.op, count(m.id) FROM problems p JOIN measurements m ON m.problem_id = p.id "
                          "GROUP BY p.op");
  while (query.step()) {
    const std::string op = query.text(0);
    if (known.standing_of(op).standing != Standing::unknown) continue;
    findings.push_back({Severity::unreachable, "trials of " + op, query.integer(1),
                        "this program has no operator of that name", gc_drops});
  }
}

/// Ok trials of current sources whose configuration the operator does not have (any more): serving cannot launch it.
void find_invalid_configurations(sqlite::Connection& connection, const BuildKnowledge& known,
                                 std::vector<Finding>& findings) {
  if (!known.violation) return;
  sqlite::Statement query(
      connection, fmt::format("SELECT {}, p.op, p.dtype, p.dims, c.text, count(*) FROM measurements m "
                              "JOIN environments e ON e.id = m.environment_id JOIN problems p ON p.id = m.problem_id "
                              "JOIN configurations c ON c.id = m.configuration_id "
                              "JOIN source_hashes h ON h.id = m.source_id JOIN sources s ON s.op = p.op "
                              "AND s.current_hash = h.hash WHERE m.outcome = 'ok' "
                              "GROUP BY m.environment_id, m.problem_id, m.configuration_id",
                              EnvironmentColumns::names));
  std::map<std::string, Finding> by_op;
  while (query.step()) {
    constexpr int at = EnvironmentColumns::count;
    std::optional<std::string> why;
    std::string subject;
    try {
      const Problem problem{query.text(at), query.text(at + 1), named_ints_from_text(query.text(at + 2))};
      const Config config = named_ints_from_text(query.text(at + 3));
      subject = fmt::format("{} with {}", problem.key(), to_text(config));
      why = known.violation(EnvironmentColumns::read(query, 0), problem, config);
    } catch (const Error&) {
      continue;  // find_unreadable_rows has it
    }
    if (!why) continue;
    Finding& finding = by_op[query.text(at)];
    if (finding.count == 0) finding.why = fmt::format("{}: {}", subject, *why);
    finding.count += query.integer(at + 4);
  }
  for (auto& [op, finding] : by_op) {
    finding.severity = Severity::unreachable;
    finding.what = "ok trials of " + op;
    finding.why = "their configurations are not in the operator's space, for example " + finding.why;
    finding.remedy =
        "'wavetune db ban' keeps one from winning; a newer version of the operator's sources drops them all";
    findings.push_back(std::move(finding));
  }
}

void find_powerless_verdicts(sqlite::Connection& connection, std::vector<Finding>& findings) {
  for (const StoredVerdict& stored : read_verdicts(connection)) {
    if (stored.effect != Effect::powerless) continue;
    const Verdict& verdict = stored.verdict;
    findings.push_back(
        {Severity::unreachable, "pin of " + verdict.problem.key(), 1,
         fmt::format("{} on {} has no ok trial with the current sources, so it does not win (pinned {}: {})",
                     to_text(verdict.config), verdict.environment.device, verdict.created_at, verdict.reason),
         "'wavetune tune' tries it again; 'wavetune db unpin' takes the pin back"});
  }
}

void count_rows(sqlite::Connection& connection, std::vector<Finding>& findings, const char* sql, const char* what,
                const char* why, const char* remedy) {
  sqlite::Statement query(connection, sql);
  if (query.step() && query.integer(0) > 0)
    findings.push_back({Severity::unreachable, what, query.integer(0), why, remedy});
}

}  // namespace

void find_unreachable_rows(sqlite::Connection& connection, const BuildKnowledge& known,
                           std::vector<Finding>& findings) {
  find_unknown_operators(connection, known, findings);
  find_invalid_configurations(connection, known, findings);
  find_powerless_verdicts(connection, findings);
  count_rows(connection, findings,
             "SELECT count(*) FROM code_objects WHERE hash NOT IN (SELECT code_hash FROM trial_code WHERE trial_id IN "
             "(SELECT id FROM winners))",
             "code objects", "they belong to configurations that do not win", gc_drops);
  count_rows(connection, findings,
             "SELECT count(*) FROM layouts l JOIN environments e ON e.id = l.environment_id WHERE NOT EXISTS "
             "(SELECT 1 FROM winners w JOIN environments o ON o.id = w.environment_id WHERE o.device = e.device AND "
             "o.arch = e.arch AND o.cu_count = e.cu_count) AND NOT EXISTS (SELECT 1 FROM published_times t WHERE "
             "t.arch = e.arch AND t.cu_count = e.cu_count)",
             "layouts", "no time of such devices is left that they could have been chosen by",
             "'wavetune tune' or 'wavetune layout' chooses again");
  count_rows(
      connection, findings,
      "SELECT count(*) FROM configurations WHERE id NOT IN (SELECT configuration_id FROM measurements) AND id NOT "
      "IN (SELECT configuration_id FROM verdicts)",
      "configurations", "no trial and no verdict has them", gc_drops);
}

}  // namespace wavetune::db
