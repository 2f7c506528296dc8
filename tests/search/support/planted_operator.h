// An operator whose configurations go wrong in chosen ways: what the driver and the measuring process must survive.
#pragma once

#include "templates/operator.h"

namespace wavetune::test {

/// Values of the planted operator's parameter "fate".
enum Fate {
  good = 0,
  slower = 1,   ///< right, and much slower than `good`
  crashes = 2,  ///< writes to a wild pointer
  hangs = 3,
  wrong_numbers = 4,
  leaves_a_hole = 5,   ///< does not write its last element
  writes_outside = 6,  ///< one element after its output
  does_not_compile = 7,
  too_many_threads = 8,
  writes_its_input = 9,
};
inline constexpr int fates = 10;

/// op "planted", dtype "f32", dims n; x [1, n] -> y [1, n] = 2 x.
const templates::Operator& planted_operator();
db::Problem planted_problem(std::int64_t n = 1000);
db::Config planted_config(Fate fate);

/// What stands in for templates::kernel_source and templates::source_hash: its source lies here, not in templates/.
std::string planted_source(const templates::Operator& op, const db::Problem& problem, const db::Config& config);
std::string planted_hash(const templates::Operator& op);

/// The planted operator by its name, all others from this build.
const templates::Operator& find_with_planted(std::string_view name);

}  // namespace wavetune::test
