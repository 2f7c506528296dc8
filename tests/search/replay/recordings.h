// What the tests of replay share: the small recording of tests/golden/replay and one made on the spot.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "db/base/error.h"
#include "search/replay/contest.h"
#include "tests/support/error_of.h"

namespace wavetune::replay {

inline std::string golden(const std::string& name) {
  return std::string(WAVETUNE_SOURCE_DIR) + "/tests/golden/replay/" + name;
}

inline Recording small_recording() {
  return load_recording(golden("small_space_T1.json"), golden("small_T4.json"), Coverage::complete);
}

/// A T1 text of x in 1..count and y in 0, 1 with `conditions` as JSON.
inline std::string t1_text(int count, const std::string& conditions = "[]") {
  std::string values;
  for (int x = 1; x <= count; ++x) values += (x == 1 ? "" : ", ") + std::to_string(x);
  return R"({"ConfigurationSpace": {"TuningParameters": [{"Name": "x", "Type": "int", "Values": "[)" + values +
         R"(]"}, {"Name": "y", "Type": "int", "Values": "[0, 1]"}], "Conditions": )" + conditions + "}}";
}

/// All of t1_text(count): 32 runs of (x + 2 y) ms each, 100 ms of compiling.
inline db::T4File t4_grid(int count) {
  db::T4File file;
  for (int x = 1; x <= count; ++x) {
    for (int y = 0; y < 2; ++y) {
      db::T4Result result;
      result.configuration = {{"x", x}, {"y", y}};
      result.times.compilation_ms = 100;
      result.times.runtimes_ms.assign(32, x + 2 * y);
      file.results.push_back(result);
    }
  }
  return file;
}

inline Recording grid_recording(int count) {
  return make_recording(templates::parse_t1(t1_text(count), "grid.json"), t4_grid(count), "grid_T4.json",
                        Coverage::complete);
}

using test::error_of;

}  // namespace wavetune::replay
