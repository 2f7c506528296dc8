#include <functional>
#include <iostream>
#include <map>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "db/commands/commands.h"
#include "db/commands/machines.h"
#include "db/commands/show.h"
#include "db/commands/verdict_command.h"
#include "db/health/garbage.h"
#include "db/health/verify.h"

namespace wavetune {
namespace po = boost::program_options;
namespace {

struct Request {
  std::string file, op;
  bool json = false;
  db::GarbageOptions garbage;
  db::VerdictRequest verdict;
};

int show(const Request& request, const db::BuildKnowledge&) {
  const auto database = db::Database::open(request.file, db::OpenMode::read_only);
  std::cout << (request.json ? db::show_as_json(database, request.op) : db::show_as_text(database, request.op));
  return 0;
}

int machines(const Request& request, const db::BuildKnowledge&) {
  const auto known = db::Database::open(request.file, db::OpenMode::read_only).machines();
  std::cout << (request.json ? db::machines_as_json(known) : db::machines_as_text(known));
  return 0;
}

int upgrade(const Request& request, const db::BuildKnowledge&) {
  const auto database = db::Database::open(request.file, db::OpenMode::read_write);
  std::cout << fmt::format("{}: schema {}\n", request.file, database.schema_version());
  return 0;
}

int verify(const Request& request, const db::BuildKnowledge& known) {
  const db::VerifyReport report = db::verify(request.file, known);
  std::cout << (request.json ? db::verify_as_json(request.file, report) : db::verify_as_text(request.file, report));
  return report.corrupt() ? 1 : 0;
}

int gc(const Request& request, const db::BuildKnowledge& known) {
  const db::GarbageReport report = db::collect_garbage(request.file, request.garbage, known);
  std::cout << fmt::format(
      "{}: {}{} trials ({} of other sources, {} superseded, {} failed, {} of unknown operators), "
      "{} offline trials, {} code objects{}; {} trials stay\n",
      request.file, request.garbage.dry_run ? "would drop " : "dropped ", report.trials(), report.stale,
      report.superseded, report.failures, report.unknown_operators, report.offline, report.code,
      request.garbage.dry_run ? "" : fmt::format(", {} rows that nothing used", report.orphans), report.kept);
  if (!request.garbage.dry_run) {
    std::cout << fmt::format(
        "{} bytes before, {} after{}\n", report.bytes_before, report.bytes_after,
        report.compacted ? "" : " (not written anew: too little was free, or another program used it)");
  }
  return 0;
}

int verdict(const Request& request, const db::BuildKnowledge& known) {
  auto database = db::Database::open(request.file, db::OpenMode::read_write);
  std::cout << db::give_verdict(database, request.verdict, known);
  return 0;
}

int verdicts(const Request& request, const db::BuildKnowledge&) {
  const auto database = db::Database::open(request.file, db::OpenMode::read_only);
  std::cout << (request.json ? db::verdicts_as_json(database) : db::verdicts_as_text(database));
  return 0;
}

using Action = int (*)(const Request&, const db::BuildKnowledge&);
const std::map<std::string, Action, std::less<>> actions = {
    {"show", show},   {"machines", machines}, {"upgrade", upgrade}, {"verify", verify}, {"gc", gc},
    {"pin", verdict}, {"ban", verdict},       {"unpin", verdict},   {"unban", verdict}, {"verdicts", verdicts}};

}  // namespace

int db_command(const std::vector<std::string>& args) { return db_command(args, {}); }

int db_command(const std::vector<std::string>& args, const db::BuildKnowledge& known) {
  Request request;
  int environment = 0;
  po::options_description options("Options");
  auto add = options.add_options();
  add("action", po::value(&request.verdict.action)->required(),
      "show: winners, trials by outcome and layouts; machines: where trials were made, and which machines disagree "
      "with the others; upgrade: bring the file to this program's schema; verify: say "
      "what "
      "is corrupt (exit code 1), stale or unreachable, why, and what to do; gc: drop what can never win and make the "
      "file smaller; pin, ban: a configuration wins whatever is faster, or never; unpin, unban: take that back; "
      "verdicts: list those decisions with their reasons");
  add("db", po::value(&request.file)->required(), "tuning database");
  add("op", po::value(&request.op), "show: only this operator, e.g. gemm");
  add("json", po::bool_switch(&request.json), "show, machines, verify, verdicts: for programs instead of people");
  add("problem", po::value(&request.verdict.problem), "pin, ban: its key, as 'db show' prints it");
  add("config", po::value(&request.verdict.config), "pin, ban: NAME=VALUE,...");
  add("reason", po::value(&request.verdict.reason), "pin, ban: why; it is kept");
  add("environment", po::value(&environment), "pin, ban: its number in 'db verdicts', where the problem has several");
  add("arch", po::value(&request.verdict.arch), "pin, ban: the environment of this architecture, e.g. gfx950");
  add("dry-run", po::bool_switch(&request.garbage.dry_run), "gc: only say what would be dropped");
  add("keep-failures", po::bool_switch(&request.garbage.keep_failures),
      "gc: keep trials that failed, so that 'wavetune tune' does not try them again");
  const std::string pin_example =
      "wavetune db pin --db tune.db --problem gemm/bf16/batch=1,k=2048,m=16,n=4096 --config bm=64,bn=128 "
      "--reason 'steadier under load'";
  const CommandHelp help{"db",
                         "db show|machines|verify|gc|pin|ban|unpin|unban|verdicts|upgrade --db FILE [...]",
                         "Looks into a tuning database, checks and cleans it, and overrules it.",
                         {"wavetune db show --db tune.db --op gemm --json", "wavetune db verify --db tune.db",
                          "wavetune db gc --db tune.db --dry-run", pin_example, "wavetune db verdicts --db tune.db"}};
  po::variables_map values;
  if (!parse_command_line(help, options, {"action"}, args, values)) return 0;
  if (values.count("environment") != 0) request.verdict.environment = environment;
  const auto action = actions.find(request.verdict.action);
  if (action == actions.end()) {
    std::string names;
    for (const auto& [name, run] : actions) names += (names.empty() ? "" : ", ") + name;
    fail(ErrorKind::usage, "db: '{}' is unknown; write one of {}", request.verdict.action, names);
  }
  return action->second(request, known);
}

}  // namespace wavetune
