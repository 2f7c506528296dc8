#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "db/commands/commands.h"
#include "db/commands/export_aiter.h"
#include "db/commands/export_t4.h"
#include "db/transfer/csv_export.h"
#include "db/transfer/json_export.h"

namespace wavetune {
namespace po = boost::program_options;
namespace {

using Writer = std::function<void(const db::Database&, std::ostream&)>;

Writer writer_of(const std::string& format, bool only_winners) {
  if (format == "json") {
    return [only_winners](const db::Database& database, std::ostream& out) {
      db::export_json(database, out, only_winners);
    };
  }
  if (only_winners) fail(ErrorKind::usage, "export: --winners belongs to --format json");
  if (format == "csv") return db::export_csv;
  fail(ErrorKind::usage, "export: --format '{}' is unknown; write json, csv, t4, aiter or bundle", format);
}

/// Writes beside the file and renames, so that a failed export leaves an earlier one alone.
void write_to(const std::filesystem::path& path, const db::Database& database, const Writer& write) {
  const std::filesystem::path temporary = fmt::format("{}.{}.part", path.string(), ::getpid());
  errno = 0;
  std::ofstream out(temporary, std::ios::binary);
  if (out) write(database, out);
  out.close();
  std::error_code error;
  if (!out.fail()) {
    std::filesystem::rename(temporary, path, error);
    if (!error) return;
  }
  const std::string reason = error ? error.message() : std::strerror(errno);
  std::filesystem::remove(temporary, error);
  fail(ErrorKind::io, "export: cannot write {}: {}", path.string(), reason);
}

}  // namespace

int export_command(const std::vector<std::string>& args) { return export_command(args, T1Meaning()); }

int export_command(const std::vector<std::string>& args, const T1Meaning& t1_meaning) {
  std::string file;
  std::string format;
  std::string output;
  bool only_winners = false;
  T4Request t4;
  po::options_description options("Options");
  auto add = options.add_options();
  add("db", po::value(&file)->required(), "tuning database");
  add("format,f", po::value(&format)->default_value("json"),
      "json: everything, for 'wavetune import' (format in db/transfer/schema.json); csv: one row a trial, winners "
      "flagged; t4: recordings of tuned spaces, for 'wavetune replay' and other tuners' tools, each with a T1 file; "
      "aiter: tuned tables of AITER: the imported ones as they came, and the winners in the same columns "
      "(wavetune_*.csv), which are for comparing: AITER cannot run them; bundle: a frozen file that 'wavetune serve' "
      "starts from without compiling (its options: --format bundle --help)");
  add("output,o", po::value(&output)->default_value("-"),
      "file to write; - is standard output; t4: gzip when it ends in .gz, or a FOLDER/ that gets a file for each "
      "problem and device; aiter: the FOLDER/");
  add("winners", po::bool_switch(&only_winners),
      "json: the winners alone: a tuned set that 'wavetune serve --db' starts from");
  add("problem", po::value(&t4.problem), "t4: only this problem (gemm/bf16/k=2048,m=16,n=4096), or all of gemm/bf16");
  if (t1_meaning) add("space", po::value(&t4.space), "t4: the T1 file that 'tune --spec' was given");
  const CommandHelp help{
      "export",
      "export --db FILE [--format json|csv|t4|aiter|bundle] [-o FILE|FOLDER/]",
      "Writes the tuning database in a form that other programs read.",
      {"wavetune export --db tune.db --format json -o tune.json", "wavetune export --db tune.db --format csv | head",
       "wavetune export --db tune.db --format t4 --problem gemm/bf16 -o recordings/",
       "wavetune export --db tune.db --format aiter -o tables/"}};
  po::variables_map values;
  if (!parse_command_line(help, options, {}, args, values)) return 0;
  if (format == "t4" && !only_winners) {
    t4.output = output;
    const db::ValueMeaning meaning = t4.space.empty() ? db::ValueMeaning() : t1_meaning(t4.space);
    export_t4(db::Database::open(file, db::OpenMode::read_only), t4, meaning);
    return 0;
  }
  if (!t4.problem.empty() || !t4.space.empty()) {
    fail(ErrorKind::usage, "export: --problem and --space belong to --format t4");
  }
  if (format == "aiter" && !only_winners) {
    export_aiter(db::Database::open(file, db::OpenMode::read_only), output);
    return 0;
  }
  const Writer write = writer_of(format, only_winners);
  const auto database = db::Database::open(file, db::OpenMode::read_only);
  if (output == "-") {
    write(database, std::cout);
    std::cout.flush();
    if (!std::cout) fail(ErrorKind::io, "export: cannot write to standard output");
    return 0;
  }
  write_to(output, database, write);
  std::cerr << (only_winners ? fmt::format("wrote the winners to {}\n", output)
                             : fmt::format("wrote {} trials to {}\n", database.count_trials(), output));
  return 0;
}

}  // namespace wavetune
