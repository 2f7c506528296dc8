#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "db/commands/commands.h"
#include "db/transfer/csv_export.h"
#include "db/transfer/json_export.h"

namespace wavetune {
namespace po = boost::program_options;
namespace {

using Writer = void (*)(const db::Database&, std::ostream&);

Writer writer_of(const std::string& format) {
  if (format == "json") return db::export_json;
  if (format == "csv") return db::export_csv;
  fail(ErrorKind::usage, "export: --format '{}' is unknown; write json or csv", format);
}

/// Writes beside the file and renames, so that a failed export leaves an earlier one alone.
void write_to(const std::filesystem::path& path, const db::Database& database, Writer write) {
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

int export_command(const std::vector<std::string>& args) {
  std::string file;
  std::string format;
  std::string output;
  po::options_description options("Options");
  options.add_options()("db", po::value(&file)->required(), "tuning database")(
      "format,f", po::value(&format)->default_value("json"),
      "json: everything, for 'wavetune import' (format in db/transfer/schema.json); csv: one row a trial, winners "
      "flagged")("output,o", po::value(&output)->default_value("-"), "file to write; - is standard output");
  const CommandHelp help{
      "export",
      "export --db FILE [--format json|csv] [-o FILE]",
      "Writes the tuning database in a form that other programs read.",
      {"wavetune export --db tune.db --format json -o tune.json", "wavetune export --db tune.db --format csv | head"}};
  po::variables_map values;
  if (!parse_command_line(help, options, {}, args, values)) return 0;
  const Writer write = writer_of(format);
  const auto database = db::Database::open(file, db::OpenMode::read_only);
  if (output == "-") {
    write(database, std::cout);
    std::cout.flush();
    if (!std::cout) fail(ErrorKind::io, "export: cannot write to standard output");
    return 0;
  }
  write_to(output, database, write);
  std::cerr << fmt::format("wrote {} trials to {}\n", database.count_trials(), output);
  return 0;
}

}  // namespace wavetune
