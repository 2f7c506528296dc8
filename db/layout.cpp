#include "db/layout.h"

namespace wavetune::db {

std::string_view to_string(Objective objective) {
  return objective == Objective::throughput ? "throughput" : "latency";
}

std::optional<Objective> objective_from_string(std::string_view word) {
  if (word == "throughput") return Objective::throughput;
  if (word == "latency") return Objective::latency;
  return std::nullopt;
}

}  // namespace wavetune::db
