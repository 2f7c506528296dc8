// A recorded space: every valid configuration with what it took and gave on some device. It stands in for the device,
// so that strategies can be run without one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/transfer/t4_file.h"
#include "search/space/search_space.h"
#include "templates/t1/t1_file.h"

namespace wavetune::replay {

/// What became of one configuration.
struct RecordedTrial {
  db::T4Invalidity invalidity = db::T4Invalidity::correct;
  std::optional<double> value_ms;  ///< nothing: it failed
  double cost_s = 0;               ///< of the whole trial
  double overhead_s = 0;           ///< the part of it that is not spent in runs: compiling, validation, framework
  std::vector<double> runs_ms;     ///< in the order measured
};

struct Recording {
  std::string name;  ///< of the file, without its endings: "convolution_MI250X"
  std::shared_ptr<const search::SearchSpace> space;
  std::vector<RecordedTrial> trials;  ///< by PointId, one for each point of the space
};

enum class Coverage {
  complete,  ///< a point of the space without a record is an error
  partial,   ///< the space is cut down to the points that have a record
};

/// Throws Error: what read_t1 and read_t4 throw, and bad_data when the two do not fit: a parameter that the other file
/// lacks, a configuration recorded twice, records outside the space and points without a record (how many, and one of
/// them).
Recording load_recording(const std::filesystem::path& t1, const std::filesystem::path& t4, Coverage coverage);
/// The same from what was read; `t4_path` is for the name and for messages.
Recording make_recording(const templates::T1File& t1, const db::T4File& t4, const std::filesystem::path& t4_path,
                         Coverage coverage);

}  // namespace wavetune::replay
