#include "db/layout.h"

namespace wavetune::db {

std::string_view to_string(Objective objective) {
  switch (objective) {
    case Objective::throughput:
      return "throughput";
    case Objective::latency:
      return "latency";
    case Objective::cost:
      return "cost";
  }
  return "";
}

std::optional<Objective> objective_from_string(std::string_view word) {
  for (const Objective objective : {Objective::throughput, Objective::latency, Objective::cost}) {
    if (word == to_string(objective)) return objective;
  }
  return std::nullopt;
}

}  // namespace wavetune::db
