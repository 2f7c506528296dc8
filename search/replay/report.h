// What a contest showed, as text and as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "search/replay/contest.h"

namespace wavetune::replay {

struct Report {
  const std::vector<ScoredSpace>& spaces;
  const std::vector<Row>& rows;
  ScoreBy by = ScoreBy::value;
  ScoreRule rule;
  std::uint64_t seed = 0;
  int repeats = 0;
  double duration = 1.0;
  bool racing = false;  ///< some rows raced
};

/// The spaces, the scores with their intervals, and when each strategy came within 5 % of the optimum.
std::string report_text(const Report& report);

/// The same and more, both scores included. Times that were never reached are null.
nlohmann::ordered_json report_json(const Report& report);

}  // namespace wavetune::replay
