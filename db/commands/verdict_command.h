// `wavetune db pin|ban|unpin|unban|verdicts`: a person overrules the measurements.
#pragma once

#include <optional>
#include <string>

#include "db/database.h"
#include "db/health/build_knowledge.h"

namespace wavetune::db {

struct VerdictRequest {
  std::string action;   ///< "pin", "ban", "unpin", "unban"
  std::string problem;  ///< key
  std::string config;   ///< "bm=64,bn=128", in any order
  std::string reason;
  /// Which environment, where several know the problem: its number in the list of `db verdicts`, its architecture.
  std::optional<int> environment = {};
  std::string arch = {};
};

/// Stores it and says what wins now. Throws Error usage for what is missing, unknown or ambiguous, for a configuration
/// that the operator does not have, and what insert_verdict throws.
std::string give_verdict(Database& database, const VerdictRequest& request, const BuildKnowledge& known);

/// All verdicts with what each does now, and the environments with their numbers.
std::string verdicts_as_text(const Database& database);
std::string verdicts_as_json(const Database& database);

}  // namespace wavetune::db
