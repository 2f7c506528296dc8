// Somebody else's runs on recorded spaces, to be scored by the same rule: CSV with the columns
// space,strategy,repeat,time_s,value_ms; one row an evaluation, those of a run together and in order of time; value_ms
// is empty when the configuration failed. tests/bench/kernel_tuner_traces.py writes such files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "search/replay/contest.h"

namespace wavetune::replay {

struct TracesFile {
  std::vector<Series> series;
  std::vector<std::string> other_spaces;  ///< spaces in the file that are not among the given ones: left out
};

/// Throws Error: not_found, io, bad_data (naming the line: a wrong header, a wrong number of columns, no number, time
/// that goes backwards, a run in two places, none of the spaces known).
TracesFile read_traces(const std::filesystem::path& path, const std::vector<ScoredSpace>& spaces);
/// The same from memory; `name` is the file's, for messages.
TracesFile traces_from_text(std::string_view text, const std::string& name, const std::vector<ScoredSpace>& spaces);

}  // namespace wavetune::replay
