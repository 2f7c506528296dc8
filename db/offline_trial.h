// What is known of a configuration without its device: compile figures and a predicted time. The best of them are the
// shortlist that a node measures first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "db/sqlite/connection.h"
#include "db/trial.h"

namespace wavetune::db {

/// One configuration, compiled for an architecture but never run.
struct OfflineTrial {
  Problem problem;
  Config config;
  std::string source_hash;        ///< as in Trial: one of other sources does not count
  Outcome outcome = Outcome::ok;  ///< ok: may be run; pruned, resource_limit or a compile outcome: it is left out
  double predicted_us = 0;        ///< by the analytic model; positive and finite
  double compile_ms = 0;
  Resources resources;
  std::string error;       ///< why it is left out
  std::string created_at;  ///< ISO 8601 UTC; filled when it is stored empty
};

/// Environments that offline trials are stored under: no device and no driver, so that no measurement shares them.
inline constexpr std::string_view offline_device = "none (offline)";

/// Rows of table offline_trials, as the functions of rows.h. Storing a configuration again replaces its row.
void put_offline_trial(sqlite::Connection& connection, const Environment& environment, const OfflineTrial& trial);
/// All of an environment in the order in which they were stored; of one problem and source hash when `problem` is
/// given.
std::vector<OfflineTrial> read_offline_trials(sqlite::Connection& connection, const Environment& environment,
                                              const Problem* problem, std::string_view source_hash);
/// The `most` fastest (predicted) ok ones for `arch`, with these sources. Those made with `compiler_version` count;
/// when there are none, those of the newest other version: registers may differ a little there, and the node compiles
/// again.
std::vector<OfflineTrial> read_shortlist(sqlite::Connection& connection, std::string_view arch,
                                         std::string_view compiler_version, const Problem& problem,
                                         std::string_view source_hash, int most);

}  // namespace wavetune::db
