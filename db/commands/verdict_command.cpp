#include "db/commands/verdict_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "db/base/error.h"
#include "db/commands/table.h"

namespace wavetune::db {
namespace {

std::string describe(const Environment& environment) {
  return fmt::format("{} ({}, {} CUs), {}, {} {}", environment.device, environment.arch, environment.cu_count,
                     environment.driver, environment.compiler, environment.compiler_version);
}

struct Numbered {
  int number = 0;
  Environment environment;
};

/// Those that measurements can be of, with their places in the list of all, from 1.
std::vector<Numbered> devices_of(const Database& database) {
  std::vector<Numbered> found;
  int number = 0;
  for (const Environment& environment : database.environments()) {
    ++number;
    if (environment.device != offline_device) found.push_back({number, environment});
  }
  return found;
}

std::string listed(const std::vector<Numbered>& environments) {
  std::string text;
  for (const auto& [number, environment] : environments) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", number, describe(environment));
  }
  return text;
}

Environment chosen_environment(const Database& database, const VerdictRequest& request, const Problem& problem) {
  std::vector<Numbered> all = devices_of(database);
  std::vector<Numbered> fitting = all;
  std::erase_if(fitting, [&request](const Numbered& one) {
    return (request.environment && one.number != *request.environment) ||
           (!request.arch.empty() && one.environment.arch != request.arch);
  });
  if (fitting.size() > 1) {
    // An environment that never saw the problem is not meant.
    std::vector<Numbered> winning = fitting;
    std::erase_if(winning, [&](const Numbered& one) { return !database.winner(one.environment, problem); });
    if (!winning.empty()) fitting = std::move(winning);
  }
  if (fitting.size() == 1) return fitting.front().environment;
  if (fitting.empty()) {
    fail(ErrorKind::usage, "db {}: no such environment in {}; there {}: {}", request.action, database.path().string(),
         all.size() == 1 ? "is" : "are", all.empty() ? "none" : listed(all));
  }
  fail(ErrorKind::usage, "db {}: {} was tuned in several environments; choose one with --environment NUMBER ({})",
       request.action, problem.key(), listed(fitting));
}

VerdictKind kind_of(const std::string& action) {
  if (action == "pin") return VerdictKind::pin;
  if (action == "ban") return VerdictKind::ban;
  return VerdictKind::none;
}

/// "unpin" must not lift a ban, nor "unban" a pin.
void require_standing(const Database& database, const Verdict& verdict, VerdictKind wanted) {
  VerdictKind standing = VerdictKind::none;
  for (const StoredVerdict& stored : database.verdicts()) {
    const Verdict& other = stored.verdict;
    if (other.environment == verdict.environment && other.problem == verdict.problem && other.config == verdict.config)
      standing = other.kind;
  }
  if (standing == wanted) return;
  fail(ErrorKind::usage, "db un{}: {} for {} is {}; 'wavetune db verdicts' lists what there is", to_string(wanted),
       to_text(verdict.config), verdict.problem.key(),
       standing == VerdictKind::none
           ? "neither pinned nor banned"
           : fmt::format("not under a {} but under a {}", to_string(wanted), to_string(standing)));
}

std::string winner_text(const Database& database, const Environment& environment, const Problem& problem) {
  const auto winner = database.winner(environment, problem);
  if (!winner) return "no winner";
  return fmt::format("{} ({:.2f} us)", to_text(winner->config), winner->median_us);
}

}  // namespace

std::string give_verdict(Database& database, const VerdictRequest& request, const BuildKnowledge& known) {
  if (request.problem.empty() || request.config.empty() || request.reason.empty()) {
    fail(ErrorKind::usage, "db {}: --problem, --config and --reason are all needed", request.action);
  }
  Verdict verdict;
  try {
    verdict.problem = problem_from_key(request.problem);
    verdict.config = named_ints_from_text(request.config);
  } catch (const Error& error) {
    fail(ErrorKind::usage, "db {}: {}", request.action, error.what());
  }
  verdict.environment = chosen_environment(database, request, verdict.problem);
  verdict.kind = kind_of(request.action);
  verdict.reason = request.reason;
  if (verdict.kind == VerdictKind::none) {
    require_standing(database, verdict, request.action == "unpin" ? VerdictKind::pin : VerdictKind::ban);
  } else if (known.violation) {
    if (const auto why = known.violation(verdict.environment, verdict.problem, verdict.config)) {
      fail(ErrorKind::usage, "db {}: {} is no configuration of {}: {}", request.action, to_text(verdict.config),
           verdict.problem.key(), *why);
    }
  }
  const std::string before = winner_text(database, verdict.environment, verdict.problem);
  database.add_verdict(verdict);
  const std::string after = winner_text(database, verdict.environment, verdict.problem);
  return fmt::format("{} of {}: {}\non {}\nwinner: {}{}\n", request.action, verdict.problem.key(),
                     to_text(verdict.config), describe(verdict.environment), after,
                     after == before ? ", as before" : fmt::format("; before: {}", before));
}

std::string verdicts_as_text(const Database& database) {
  const std::vector<Numbered> environments = devices_of(database);
  std::string text;
  for (const auto& [number, environment] : environments)
    text += fmt::format("environment {}: {}\n", number, describe(environment));
  Table table(
      {{"made"}, {"environment", Align::right}, {"verdict"}, {"effect"}, {"problem"}, {"configuration"}, {"reason"}});
  for (const auto& [verdict, effect] : database.verdicts()) {
    const auto place =
        std::find_if(environments.begin(), environments.end(),
                     [&verdict = verdict](const Numbered& one) { return one.environment == verdict.environment; });
    table.add({verdict.created_at, place == environments.end() ? "-" : fmt::format("{}", place->number),
               std::string(to_string(verdict.kind)), std::string(to_string(effect)), verdict.problem.key(),
               to_text(verdict.config), verdict.reason});
  }
  return text + (table.empty() ? "no verdicts\n" : table.text(""));
}

std::string verdicts_as_json(const Database& database) {
  using nlohmann::ordered_json;
  ordered_json list = ordered_json::array();
  for (const auto& [verdict, effect] : database.verdicts()) {
    const Environment& environment = verdict.environment;
    list.push_back({{"environment",
                     {{"device", environment.device},
                      {"arch", environment.arch},
                      {"cu_count", environment.cu_count},
                      {"driver", environment.driver},
                      {"compiler", environment.compiler},
                      {"compiler_version", environment.compiler_version}}},
                    {"problem", verdict.problem.key()},
                    {"config", to_text(verdict.config)},
                    {"verdict", to_string(verdict.kind)},
                    {"effect", to_string(effect)},
                    {"reason", verdict.reason},
                    {"created_at", verdict.created_at}});
  }
  return ordered_json{{"verdicts", std::move(list)}}.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace wavetune::db
