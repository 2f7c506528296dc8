#include "db/merge/merged_tables.h"

namespace wavetune::db {

std::span<const MergedTable> merged_tables() {
  static const std::map<std::string, std::string> of_a_problem = {{"environment_id", "environments"},
                                                                  {"problem_id", "problems"}};
  static const std::map<std::string, std::string> of_a_configuration = {
      {"environment_id", "environments"}, {"problem_id", "problems"}, {"configuration_id", "configurations"}};
  static const std::map<std::string, std::string> of_a_trial = {{"environment_id", "environments"},
                                                                {"problem_id", "problems"},
                                                                {"source_id", "source_hashes"},
                                                                {"configuration_id", "configurations"}};
  static const std::vector<MergedTable> tables = {
      {"environments", {"device", "arch", "cu_count", "driver", "compiler", "compiler_version"}},
      {"problems", {"op", "dtype", "dims"}},
      {"configurations", {"hash", "text"}},
      {"source_hashes", {"hash"}},
      // Of two that name different sources, the one that was said later: it is a register whose last write wins. The
      // newest trial of a hash would not do in its place: that changes with every merge, and with it which of three
      // databases is right would depend on which two come together first.
      {"sources", {"op"}, {}, {"said_at", "current_hash"}},
      // The same measurement can lie in two databases with more or less to it, when one came by way of an export or had
      // its samples dropped: what says more is kept.
      {"measurements",
       {"environment_id", "problem_id", "source_id", "configuration_id", "created_at", "machine", "outcome",
        "median_us"},
       of_a_trial,
       {},
       // A partial index on the outcome would have SQLite prepare the query anew for each value.
       {"machine", "outcome", "median_us"}},
      // Here a newer row of a configuration replaces the older one within one database, too.
      {"offline_trials",
       {"environment_id", "problem_id", "source_hash", "configuration"},
       of_a_problem,
       {"created_at"}},
      {"layouts",
       {"environment_id", "model_id", "devices", "objective", "created_at", "tp", "dp"},
       {{"environment_id", "environments"}}},
      {"code_objects", {"hash"}},
      // Code of all trials that won somewhere. Which of them win here depends on what is merged next: those that do not
      // are dropped when their problem is tuned again.
      {"trial_code", {"trial_id"}, {{"trial_id", "measurements"}}},
      {"published_times", {"implementation", "header", "line"}, {{"problem_id", "problems"}}, {"created_at"}},
      {"verdicts",
       {"environment_id", "problem_id", "configuration_id", "created_at", "verdict", "reason"},
       of_a_configuration},
  };
  return tables;
}

}  // namespace wavetune::db
