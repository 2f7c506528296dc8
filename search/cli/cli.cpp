#include "search/cli/cli.h"

#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "db/base/error.h"
#include "db/commands/commands.h"
#include "runtime/hip/doctor_command.h"
#include "runtime/isa/disassembler.h"
#include "runtime/jit/compile_service.h"
#include "runtime/server/serve_command.h"
#include "search/bundle/bundle_command.h"
#include "search/cli/build_knowledge.h"
#include "search/cli/version.h"
#include "search/coverage/coverage_command.h"
#include "search/driver/tune_command.h"
#include "search/inspect/inspect_command.h"
#include "search/layout/layout_command.h"
#include "search/measure/measure_worker.h"
#include "search/replay/replay_command.h"
#include "search/replay/t1_meaning.h"
#include "search/report/report_command.h"

namespace wavetune::cli {
namespace {

using Arguments = std::vector<std::string>;

struct Command {
  std::string_view name;
  std::string_view summary;  ///< empty: an internal helper process, not shown
  std::function<int(const Arguments&)> run;
};

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      {"tune", "search kernel configurations for a model, keep the winners, choose the TP/DP layout", tune_command},
      {"layout", "print (or choose again) the TP x DP layout from measured operator times", layout_command},
      {"report", "show what tuning found and how, as text or as one HTML page", report_command},
      {"replay", "score search strategies on recorded spaces, without a device", replay_command},
      {"serve", "serve a model over the OpenAI API with the tuned kernels and the chosen layout", serve_command},
      {"export", "write the database as JSON, CSV, T4, AITER's tables or a frozen bundle",
       [](const Arguments& words) {
         return wants_bundle(words) ? bundle_command(words) : export_command(words, t1_meaning);
       }},
      {"import", "read exported JSON and AITER's tuned tables into a database", import_command},
      {"merge", "bring the databases of several nodes together", merge_command},
      {"db", "look into a database, check and clean it, pin or ban configurations, say what serving would find",
       [](const Arguments& words) {
         if (words.empty() || words[0] != "coverage") return db_command(words, build_knowledge());
         return coverage_command(Arguments(words.begin() + 1, words.end()));
       }},
      {"inspect", "print what the machine code of a configuration says: resources, occupancy, inner loop",
       inspect_command},
      {"doctor", "print devices, compilers and libraries found, and what each missing one costs", doctor_command},
      {"__compile-worker", "", [](const Arguments&) { return jit::compile_worker_main(); }},
      {"__disassemble-worker", "", [](const Arguments&) { return isa::disassemble_worker_main(); }},
      {"__measure-worker", "", measure::measure_worker_main},
  };
  return table;
}

void print_help(std::ostream& out) {
  out << "wavetune: makes GLM-5.2 fast on AMD Instinct MI355X, by tuning its kernels on the node that serves it.\n\n"
         "Usage: wavetune COMMAND [OPTIONS]\n\n";
  for (const Command& command : commands()) {
    if (!command.summary.empty()) out << fmt::format("  {:<8} {}\n", command.name, command.summary);
  }
  out << "\n'wavetune COMMAND --help' shows a command's options with examples; 'wavetune --version' what this was "
         "built with.\n";
}

}  // namespace

int run(int argc, char** argv) {
  const Arguments words(argv + 1, argv + argc);
  if (words.empty()) {
    print_help(std::cerr);
    return 2;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_help(std::cout);
    return 0;
  }
  if (words[0] == "--version") {
    std::cout << version_text();
    return 0;
  }
  try {
    for (const Command& command : commands()) {
      if (command.name == words[0]) return command.run(Arguments(words.begin() + 1, words.end()));
    }
    fail(ErrorKind::usage, "there is no command '{}'; 'wavetune --help' lists them", words[0]);
  } catch (const Error& error) {
    std::cerr << "wavetune: " << error.what() << "\n";
    return error.exit_code();
  } catch (const std::exception& error) {
    std::cerr << "wavetune: " << error.what() << " (this is a fault in wavetune: please report it)\n";
    return 1;
  }
}

}  // namespace wavetune::cli
