// The tuning database: one SQLite file in WAL mode. Measurements are appended, winners are a query over them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/layout.h"
#include "db/offline_trial.h"
#include "db/published_time.h"
#include "db/trial.h"
#include "db/verdict.h"
#include "db/winner_code.h"

namespace wavetune::db {

struct Machine;  // machines.h

enum class OpenMode {
  read_only,   ///< must exist
  read_write,  ///< must exist
  create,      ///< created when absent, migrated when older
};

struct TrialFilter {
  std::optional<std::string> op = {};
  std::optional<Outcome> outcome = {};
  std::optional<Environment> environment = {};
  bool only_winners = false;
};

struct StoredTrial {
  Trial trial;
  Environment environment;
  bool winner = false;  ///< it wins now
};

struct StoredWinner {
  Winner winner;
  Environment environment;
};

struct OutcomeCount {
  Environment environment;
  std::string op;
  Outcome outcome = Outcome::ok;
  std::int64_t count = 0;
};

/// What one database has to give to another.
struct Contents {
  std::vector<std::pair<std::string, std::string>> sources;  ///< op, source hash
  std::vector<StoredTrial> trials;
  std::vector<std::pair<Environment, Layout>> layouts;
};

struct MergeCounts {
  std::int64_t trials_added = 0, trials_known = 0;
  std::int64_t layouts_added = 0, layouts_known = 0;
};

/// Thread-safe: calls are serialised inside. One writer at a time across processes (SQLite's lock, waited for up to 60
/// s). A file on a network file system is kept in rollback journal mode, with a warning (sqlite/journal.h). All methods
/// throw Error: incompatible (newer schema), bad_data (not SQLite, corrupt), not_found, io.
class Database {
 public:
  static Database open(const std::filesystem::path& path, OpenMode mode);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  /// Appends; durable when the call returns. Throws Error internal for an ok trial without a positive, finite median.
  void add_trial(const Environment& environment, const Trial& trial);
  /// In the order in which they were added.
  std::vector<StoredTrial> trials(const TrialFilter& filter = {}) const;
  /// Same, one at a time; `visit` must not call this database.
  void visit_trials(const TrialFilter& filter, const std::function<void(const StoredTrial&)>& visit) const;
  std::int64_t count_trials() const;
  std::vector<OutcomeCount> outcome_counts() const;
  /// Configurations of `problem` that already have an outcome in this environment with these sources (resume): of each
  /// the newest trial, in the order in which they were first tried.
  std::vector<Trial> trials_of(const Environment& environment, const Problem& problem,
                               std::string_view source_hash) const;

  /// How many configurations trials_of would give.
  std::int64_t count_tried(const Environment& environment, const Problem& problem, std::string_view source_hash) const;
  /// When the trials of `problem` were made, superseded ones too; in no order.
  std::vector<std::string> trial_times(const Environment& environment, const Problem& problem,
                                       std::string_view source_hash) const;

  /// Configurations compiled without a device; see offline_trial.h. `environment` is that of the compiler.
  void put_offline_trial(const Environment& environment, const OfflineTrial& trial);
  /// All of an environment, of every problem and source hash.
  std::vector<OfflineTrial> offline_trials(const Environment& environment) const;
  std::vector<OfflineTrial> offline_trials_of(const Environment& environment, const Problem& problem,
                                              std::string_view source_hash) const;
  /// What a node of this environment measures first: at most `most`, best predicted first (see read_shortlist).
  std::vector<OfflineTrial> shortlist(const Environment& node, const Problem& problem, std::string_view source_hash,
                                      int most) const;

  /// With other sources, fastest first; see earlier_trials.h.
  std::vector<Config> earlier_best(const Environment& environment, const Problem& problem, std::string_view source_hash,
                                   int most) const;

  /// Says that `source_hash` is what the templates of `op` are now; winners of other hashes stop counting.
  void set_current_source(std::string_view op, std::string_view source_hash);
  std::optional<std::string> current_source(std::string_view op) const;

  /// All operators with a current source hash.
  std::vector<std::pair<std::string, std::string>> sources() const;

  /// Of exactly this problem, in `environment`, with the op's current sources: the configuration pinned last, else the
  /// fastest ok trial whose configuration is not banned.
  std::optional<Winner> winner(const Environment& environment, const Problem& problem) const;
  /// All winners of an environment, of one op when given.
  std::vector<Winner> winners(const Environment& environment, std::string_view op = {}) const;
  std::vector<StoredWinner> all_winners() const;
  std::vector<Environment> environments() const;

  /// A person's decisions; see verdict.h.
  void add_verdict(const Verdict& verdict);
  std::vector<StoredVerdict> verdicts() const;
  std::vector<Config> banned(const Environment& environment, const Problem& problem) const;

  /// Code objects of winners; see winner_code.h.
  bool put_winner_code(const Environment& environment, const Problem& problem, const WinnerCode& winner);
  std::optional<std::string> winner_code_key(const Environment& environment, const Problem& problem) const;
  std::optional<std::vector<std::byte>> code(std::string_view request_key) const;
  CodeTotals code_totals() const;

  /// Times of other stacks' kernels; see published_time.h. All in one transaction, those known already left out.
  PublishCounts add_published(std::span<const PublishedTime> rows);
  /// Of all architectures when `arch` is empty, of all sizes when `cu_count` is 0.
  std::vector<PublishedTime> published_times(std::string_view arch = {}, int cu_count = 0) const;

  void put_layout(const Environment& environment, const Layout& layout);
  /// The newest layout stored for this model, device count and objective on such devices (equal in name, architecture
  /// and compute units): one that was planned elsewhere, or with another driver, is followed too.
  std::optional<Layout> layout(const Environment& environment, std::string_view model_id, int devices,
                               Objective objective) const;
  /// Newest of any objective.
  std::optional<Layout> latest_layout(const Environment& environment, std::string_view model_id, int devices) const;
  std::vector<std::pair<Environment, Layout>> layouts() const;

  /// Adds what is not there yet, in one transaction. A trial is known when one of the same environment, problem,
  /// configuration, source hash, outcome, time, creation and machine (when it names one) is there; a layout when
  /// environment, model, devices, objective, degrees and creation are. Source hashes are taken only for operators that
  /// have none here: our own templates are the truth here.
  MergeCounts merge(const Contents& contents);

  /// Where trials were made, with how each machine compares to the others; see machines.h.
  std::vector<Machine> machines() const;
  /// The same without the comparison, which reads all trials.
  std::vector<Machine> machine_counts() const;

  int schema_version() const;
  const std::filesystem::path& path() const;

 private:
  class Impl;
  explicit Database(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wavetune::db
