#include <iostream>
#include <iterator>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "db/base/file.h"
#include "db/commands/commands.h"
#include "db/transfer/json_import.h"

namespace wavetune {
namespace po = boost::program_options;
namespace {

void append(db::Contents& all, db::Contents&& more) {
  const auto move_all = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  move_all(all.sources, more.sources);
  move_all(all.trials, more.trials);
  move_all(all.layouts, more.layouts);
}

}  // namespace

int import_command(const std::vector<std::string>& args) {
  std::string file;
  std::vector<std::string> inputs;
  po::options_description options("Options");
  options.add_options()("db", po::value(&file)->required(), "tuning database; made when it does not exist")(
      "input", po::value(&inputs)->required(), "files that 'wavetune export --format json' wrote");
  const CommandHelp help{
      "import",
      "import --db FILE FILE...",
      "Adds exported trials and layouts to a database: all of them or, when a file is bad, none. What is there already "
      "is\n"
      "not added again, so the same file can be imported twice and several nodes' files can be brought together.",
      {"wavetune import --db fleet.db node1.json node2.json"}};
  po::variables_map values;
  if (!parse_command_line(help, options, {"input"}, args, values)) return 0;
  db::Contents contents;
  for (const std::string& input : inputs) append(contents, db::contents_from_json(read_file(input), input));
  auto database = db::Database::open(file, db::OpenMode::create);
  const db::MergeCounts counts = database.merge(contents);
  std::cout << fmt::format("{}: {} trials added ({} already there), {} layouts added ({} already there)\n", file,
                           counts.trials_added, counts.trials_known, counts.layouts_added, counts.layouts_known);
  return 0;
}

}  // namespace wavetune
