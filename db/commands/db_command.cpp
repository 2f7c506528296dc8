#include <iostream>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "db/commands/commands.h"
#include "db/commands/machines.h"
#include "db/commands/show.h"

namespace wavetune {
namespace po = boost::program_options;

int db_command(const std::vector<std::string>& args) {
  std::string action;
  std::string file;
  std::string op;
  bool json = false;
  po::options_description options("Options");
  options.add_options()(
      "action", po::value(&action)->required(),
      "show: winners, trials by outcome and layouts; machines: where trials were made, and which machines disagree "
      "with the others; upgrade: bring the file to this program's schema")(
      "db", po::value(&file)->required(), "tuning database")("op", po::value(&op), "only this operator, e.g. gemm")(
      "json", po::bool_switch(&json), "for programs instead of people");
  const CommandHelp help{"db",
                         "db show|machines|upgrade --db FILE [--op OP] [--json]",
                         "Looks into a tuning database.",
                         {"wavetune db show --db tune.db", "wavetune db show --db tune.db --op gemm --json",
                          "wavetune db machines --db fleet.db"}};
  po::variables_map values;
  if (!parse_command_line(help, options, {"action"}, args, values)) return 0;
  if (action == "show") {
    const auto database = db::Database::open(file, db::OpenMode::read_only);
    std::cout << (json ? db::show_as_json(database, op) : db::show_as_text(database, op));
  } else if (action == "machines") {
    const auto machines = db::Database::open(file, db::OpenMode::read_only).machines();
    std::cout << (json ? db::machines_as_json(machines) : db::machines_as_text(machines));
  } else if (action == "upgrade") {
    const auto database = db::Database::open(file, db::OpenMode::read_write);
    std::cout << fmt::format("{}: schema {}\n", file, database.schema_version());
  } else {
    fail(ErrorKind::usage, "db: '{}' is unknown; write 'db show', 'db machines' or 'db upgrade'", action);
  }
  return 0;
}

}  // namespace wavetune
