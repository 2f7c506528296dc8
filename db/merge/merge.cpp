#include "db/merge/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "db/base/error.h"
#include "db/merge/scratch_file.h"
#include "db/schema.h"
#include "db/sqlite/journal.h"
#include "db/sqlite/statement.h"
#include "db/sqlite/transaction.h"

namespace wavetune::db {
namespace {

namespace fs = std::filesystem;

// Kinds of scratch files.
constexpr std::string_view merging = "merging";
constexpr std::string_view upgrading = "upgrading";

bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return fs::equivalent(a, b, ignored);
}

/// Those that have something to add.
std::vector<fs::path> distinct(const std::vector<fs::path>& inputs, const fs::path& output, MergeReport& report) {
  std::vector<fs::path> found;
  for (const fs::path& input : inputs) {
    const bool known = same_file(input, output) ||
                       std::any_of(found.begin(), found.end(), [&](const fs::path& f) { return same_file(f, input); });
    (known ? report.left_out : found).push_back(input);
  }
  return found;
}

/// Reads every page: damage must show before anything is written.
void check_input(const fs::path& path) {
  sqlite::Connection connection(path, sqlite::Access::read_only);
  // Of an older version it is upgraded in a copy; what is newer or empty cannot be read.
  const int version = read_schema_version(connection);
  if (version == 0 || version > current_schema_version()) require_current_schema(connection);
  const std::string found = connection.scalar("PRAGMA quick_check(1)");
  if (found != "ok") {
    fail(ErrorKind::bad_data, "database {}: damaged ({}); restore a copy or an export", path.string(), found);
  }
}

/// An input in the current schema.
class Input {
 public:
  Input(const fs::path& path, const fs::path& output) : connection_(open(path)) {
    if (read_schema_version(*connection_) == current_schema_version()) return;
    copy_.emplace(output, upgrading);
    sqlite::Statement(*connection_, "VACUUM INTO ?1").bind(copy_->path().string()).run();
    connection_ = std::make_unique<sqlite::Connection>(copy_->path(), sqlite::Access::read_write);
    migrate(*connection_);
  }

  sqlite::Connection& connection() { return *connection_; }

 private:
  static std::unique_ptr<sqlite::Connection> open(const fs::path& path) {
    return std::make_unique<sqlite::Connection>(path, sqlite::Access::read_only);
  }

  std::optional<ScratchFile> copy_;  ///< outlives its connection
  std::unique_ptr<sqlite::Connection> connection_;
};

void merge_all(const std::vector<fs::path>& inputs, const fs::path& output, sqlite::Connection& into,
               MergeReport& report) {
  sqlite::Transaction transaction(into);
  for (const fs::path& path : inputs) {
    Input input(path, output);
    // One state of a file that others write to.
    input.connection().execute("BEGIN");
    for (const auto& [table, counts] : merge_rows(input.connection(), into)) report.tables[table] += counts;
  }
  transaction.commit();
}

void merge_into_existing(const std::vector<fs::path>& inputs, const fs::path& output, MergeReport& report) {
  sqlite::Connection into(output, sqlite::Access::read_write);
  // Look before touching: a foreign or newer file must stay as it is, its journal mode included.
  const int version = read_schema_version(into);
  if (version == 0 || version > current_schema_version()) require_current_schema(into);
  sqlite::set_journal(into);
  migrate(into);
  merge_all(inputs, output, into, report);
}

ScratchFile::Placed merge_into_new(const std::vector<fs::path>& inputs, const fs::path& output, MergeReport& report) {
  ScratchFile file(output, merging);
  {
    sqlite::Connection into(file.path(), sqlite::Access::create);
    // Nobody else sees the file, and nobody needs it after a crash: no journal, and flushed once, at the end.
    into.execute(
        "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; "
        "PRAGMA foreign_keys=ON");
    migrate(into);
    merge_all(inputs, output, into, report);
  }
  return file.place(output);
}

}  // namespace

MergeReport merge_databases(const std::vector<fs::path>& inputs, const fs::path& output) {
  MergeReport report;
  const std::vector<fs::path> merged = distinct(inputs, output, report);
  for (const fs::path& input : merged) check_input(input);
  for (const std::string_view kind : {merging, upgrading}) ScratchFile::remove_left_over(output, kind);
  if (!fs::exists(output)) {
    if (merge_into_new(merged, output, report) == ScratchFile::Placed::done) return report;
    report.tables.clear();  // another merge made it meanwhile
  }
  merge_into_existing(merged, output, report);
  return report;
}

}  // namespace wavetune::db
