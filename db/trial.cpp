#include "db/trial.h"

namespace wavetune::db {

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return "ok";
    case Outcome::compile_error:
      return "compile_error";
    case Outcome::compile_crash:
      return "compile_crash";
    case Outcome::compile_timeout:
      return "compile_timeout";
    case Outcome::resource_limit:
      return "resource_limit";
    case Outcome::launch_error:
      return "launch_error";
    case Outcome::fault:
      return "fault";
    case Outcome::timeout:
      return "timeout";
    case Outcome::wrong:
      return "wrong";
    case Outcome::pruned:
      return "pruned";
  }
  return "unknown";
}

std::optional<Outcome> outcome_from_string(std::string_view word) {
  for (const Outcome outcome : all_outcomes) {
    if (word == to_string(outcome)) return outcome;
  }
  return std::nullopt;
}

}  // namespace wavetune::db
