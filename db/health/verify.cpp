#include "db/health/verify.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "db/base/error.h"
#include "db/health/checks.h"
#include "db/schema.h"
#include "db/sqlite/page_checksum.h"
#include "db/sqlite/statement.h"

namespace wavetune::db {
namespace {

// So many of a kind are named; the rest is counted.
constexpr std::size_t most_named = 5;

/// Runs a check. What stops it is a finding: the others may still have something to say.
template <class Check>
void guarded(std::vector<Finding>& findings, const char* what, Check&& check) {
  try {
    check();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_data && error.kind() != ErrorKind::internal) throw;
    findings.push_back({Severity::corrupt, what, 1, error.what(), restore});
  }
}

void check_checksums(const std::filesystem::path& path, VerifyReport& report) {
  const sqlite::PageReport pages = sqlite::check_pages(path);
  report.pages = pages.pages;
  report.checksums = pages.checksums;
  if (pages.damaged.empty()) return;
  std::string names;
  for (std::size_t i = 0; i < std::min(most_named, pages.damaged.size()); ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : ", ", pages.damaged[i]);
  }
  if (pages.damaged.size() > most_named) names += ", ...";
  report.findings.push_back(
      {Severity::corrupt, "pages", static_cast<std::int64_t>(pages.damaged.size()),
       fmt::format("their checksums do not fit (page {}): a fault of the disk, or another program "
                   "wrote the file",
                   names),
       restore});
}

/// PRAGMA integrity_check and foreign_key_check; each line that is not "ok" is a fault.
void check_structure(sqlite::Connection& connection, std::vector<Finding>& findings) {
  Finding structure{Severity::corrupt, "structure", 0, "", restore};
  sqlite::Statement integrity(connection, "PRAGMA integrity_check(20)");
  while (integrity.step()) {
    if (integrity.text(0) == "ok") continue;
    if (++structure.count == 1) structure.why = integrity.text(0);
  }
  if (structure.count > 0) findings.push_back(std::move(structure));
  Finding references{Severity::corrupt, "references", 0, "", restore};
  sqlite::Statement foreign(connection, "PRAGMA foreign_key_check");
  while (foreign.step()) {
    if (++references.count == 1)
      references.why = fmt::format("row {} of {} refers to a row of {} that is not there", foreign.text(1),
                                   foreign.text(0), foreign.text(2));
  }
  if (references.count > 0) findings.push_back(std::move(references));
}

}  // namespace

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::corrupt:
      return "corrupt";
    case Severity::stale:
      return "stale";
    case Severity::unreachable:
      return "unreachable";
  }
  return "unknown";
}

bool VerifyReport::corrupt() const {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::corrupt; });
}

VerifyReport verify(const std::filesystem::path& path, const BuildKnowledge& known) {
  VerifyReport report;
  std::vector<Finding>& findings = report.findings;
  std::unique_ptr<sqlite::Connection> connection;
  guarded(findings, "file", [&] {
    connection = std::make_unique<sqlite::Connection>(path, sqlite::Access::read_only);
    require_current_schema(*connection);
  });
  guarded(findings, "file", [&] { check_checksums(path, report); });
  if (!connection) return report;
  guarded(findings, "structure", [&] { check_structure(*connection, findings); });
  guarded(findings, "rows", [&] { find_unreadable_rows(*connection, findings); });
  guarded(findings, "rows", [&] {
    sqlite::Statement count(*connection, "SELECT count(*) FROM measurements");
    count.step();
    report.trials = count.integer(0);
    find_stale_rows(*connection, known, findings);
    find_unreachable_rows(*connection, known, findings);
  });
  return report;
}

std::string verify_as_text(const std::filesystem::path& path, const VerifyReport& report) {
  std::string text = fmt::format("{}: {} trials, {} pages{}\n", path.string(), report.trials, report.pages,
                                 report.checksums ? "" : " without checksums ('wavetune db gc' adds them)");
  for (const Finding& finding : report.findings) {
    text += fmt::format("{}: {} {}: {}\n  -> {}\n", to_string(finding.severity), finding.count, finding.what,
                        finding.why, finding.remedy);
  }
  if (report.findings.empty()) text += "nothing corrupt, stale or unreachable\n";
  return text;
}

std::string verify_as_json(const std::filesystem::path& path, const VerifyReport& report) {
  using nlohmann::ordered_json;
  ordered_json findings = ordered_json::array();
  for (const Finding& finding : report.findings) {
    findings.push_back({{"severity", to_string(finding.severity)},
                        {"what", finding.what},
                        {"count", finding.count},
                        {"why", finding.why},
                        {"remedy", finding.remedy}});
  }
  const ordered_json document = {{"path", path.string()},       {"trials", report.trials},
                                 {"pages", report.pages},       {"checksums", report.checksums},
                                 {"corrupt", report.corrupt()}, {"findings", std::move(findings)}};
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace wavetune::db
