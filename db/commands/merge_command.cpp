#include <iostream>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "db/commands/commands.h"
#include "db/commands/machines.h"
#include "db/database.h"
#include "db/merge/merge.h"

namespace wavetune {
namespace po = boost::program_options;
namespace {

std::string counts_text(const db::MergeReport& report) {
  const auto text_of = [&report](const char* table, const char* name) {
    const auto found = report.tables.find(table);
    const db::RowCounts counts = found == report.tables.end() ? db::RowCounts{} : found->second;
    if (counts.added + counts.known == 0) return std::string();
    return fmt::format(", {} {} added ({} already there)", counts.added, name, counts.known);
  };
  const std::string text = text_of("measurements", "trials") + text_of("offline_trials", "offline trials") +
                           text_of("layouts", "layouts") + text_of("code_objects", "code objects") +
                           text_of("verdicts", "verdicts") + text_of("published_times", "published times");
  return text.empty() ? "nothing to add" : text.substr(2);
}

}  // namespace

int merge_command(const std::vector<std::string>& args) {
  std::vector<std::string> inputs;
  std::string output;
  po::options_description options("Options");
  options.add_options()("input", po::value(&inputs)->required(), "tuning databases; they are only read")(
      "output,o", po::value(&output)->required(), "database that gets everything; made when it does not exist");
  const CommandHelp help{
      "merge",
      "merge FILE... -o FILE",
      "Brings the tuning databases of several nodes together: trials, winners' code, layouts, verdicts, published "
      "times.\n"
      "What is there already is not added again; the order of the files does not matter. All of it or, when a file is "
      "bad or\n"
      "the merge is killed, nothing. Machines that measured the same configurations differently are named.",
      {"wavetune merge node1.db node2.db -o fleet.db", "wavetune merge shard-*.db -o tuning.db",
       "wavetune layout --model /models/GLM-5.2 --db tuning.db --again"}};
  po::variables_map values;
  if (!parse_command_line(help, options, {"input"}, args, values)) return 0;
  const db::MergeReport report =
      db::merge_databases(std::vector<std::filesystem::path>(inputs.begin(), inputs.end()), output);
  const std::size_t merged = inputs.size() - report.left_out.size();
  for (const auto& path : report.left_out) {
    std::cerr << fmt::format("{}: is the output or was named before; left out\n", path.string());
  }
  std::cout << fmt::format("{}: {} {} merged: {}\n", output, merged, merged == 1 ? "database" : "databases",
                           counts_text(report));
  std::cout << db::deviations_text(db::Database::open(output, db::OpenMode::read_only).machines()) << std::flush;
  return 0;
}

}  // namespace wavetune
