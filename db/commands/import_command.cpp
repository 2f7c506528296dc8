#include <algorithm>
#include <iostream>
#include <iterator>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "db/base/file.h"
#include "db/commands/commands.h"
#include "db/transfer/aiter_table.h"
#include "db/transfer/json_import.h"

namespace wavetune {
namespace po = boost::program_options;
namespace {

/// A table of AITER and what was read of it.
struct Table {
  std::string file;
  db::AiterRows rows;
};

/// All input files, read before anything is written.
struct Inputs {
  db::Contents contents;
  std::vector<db::PublishedTime> published;  ///< of JSON files
  std::size_t json_files = 0;
  std::vector<Table> tables;
  std::size_t unread_files = 0;
};

template <class T>
void move_all(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void append(Inputs& all, db::ImportedDocument&& more) {
  move_all(all.contents.sources, more.contents.sources);
  move_all(all.contents.trials, more.contents.trials);
  move_all(all.contents.layouts, more.contents.layouts);
  move_all(all.published, more.published);
  ++all.json_files;
}

/// Whether the first line is several columns of text. Of anything else, the JSON reader's message says more.
bool looks_like_table(std::string_view text) {
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t first = line.find_first_not_of(" \t");
  return first != std::string_view::npos && line[first] != '{' && line[first] != '[' &&
         line.find(',') != std::string_view::npos && std::none_of(line.begin(), line.end(), [](char c) {
           return static_cast<unsigned char>(c) < ' ' && c != '\t';
         });
}

void read_table(Inputs& all, const std::string& file, std::string_view text) {
  Table table{file, {}};
  try {
    table.rows = db::read_aiter_table(text, file);
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    ++all.unread_files;
    return;
  }
  for (const db::UnreadRow& row : table.rows.unread) {
    std::cerr << fmt::format("{}:{}: {}\n", file, row.line, row.reason);
  }
  if (table.rows.own > 0) {
    std::cerr << fmt::format(
        "{}: {} rows are wavetune's own winners, which come in by 'wavetune export --format json'\n", file,
        table.rows.own);
  }
  all.tables.push_back(std::move(table));
}

Inputs read_inputs(const std::vector<std::string>& files) {
  Inputs all;
  for (const std::string& file : files) {
    const std::string text = read_file(file);
    if (looks_like_table(text)) {
      read_table(all, file, text);
    } else {
      append(all, db::document_from_json(text, file));
    }
  }
  return all;
}

bool nothing_read(const Inputs& inputs) {
  return inputs.json_files == 0 && std::all_of(inputs.tables.begin(), inputs.tables.end(), [](const Table& table) {
           return table.rows.rows.empty() && table.rows.unread.size() + table.rows.own > 0;
         });
}

/// In two transactions: the files are good, and after a failure between them the same import adds what is missing.
void add_documents(db::Database& database, const Inputs& inputs, const std::string& file) {
  const db::MergeCounts counts = database.merge(inputs.contents);
  std::string line = fmt::format("{}: {} trials added ({} already there), {} layouts added ({} already there)", file,
                                 counts.trials_added, counts.trials_known, counts.layouts_added, counts.layouts_known);
  if (!inputs.published.empty()) {
    const db::PublishCounts published = database.add_published(inputs.published);
    line += fmt::format(", {} published times added ({} already there)", published.added, published.known);
  }
  std::cout << line << '\n';
}

void add_tables(db::Database& database, const Inputs& inputs, const std::string& file) {
  db::PublishCounts total;
  std::size_t skipped = 0;
  for (const Table& table : inputs.tables) {
    const db::PublishCounts counts = database.add_published(table.rows.rows);
    const std::size_t left = table.rows.unread.size() + table.rows.own;
    std::cout << fmt::format("{}: {} rows imported, {} already there, {} skipped\n", table.file, counts.added,
                             counts.known, left);
    total.added += counts.added;
    total.known += counts.known;
    skipped += left;
  }
  std::cout << fmt::format("{}: {} published times added ({} already there); {} rows and {} files were left out\n",
                           file, total.added, total.known, skipped, inputs.unread_files);
}

}  // namespace

int import_command(const std::vector<std::string>& args) {
  std::string file;
  std::vector<std::string> files;
  po::options_description options("Options");
  options.add_options()("db", po::value(&file)->required(), "tuning database; made when it does not exist")(
      "input", po::value(&files)->required(),
      "files that 'wavetune export --format json' wrote, and tuned tables of AITER (CSV); told apart by what they "
      "hold");
  const CommandHelp help{
      "import",
      "import --db FILE FILE...",
      "Adds exported trials and layouts to a database: all of them or, when a file is bad, none. What is there already "
      "is\n"
      "not added again, so the same file can be imported twice and several nodes' files can be brought together.\n\n"
      "The rows of AITER's tables come in as published times of another implementation. They are never winners. A row\n"
      "that cannot be read is named and left out, and so is a table of unknown columns. Known are\n" +
          db::aiter_table_names() + ".",
      {"wavetune import --db fleet.db node1.json node2.json", "wavetune import --db aiter.db aiter/configs/*.csv"}};
  po::variables_map values;
  if (!parse_command_line(help, options, {"input"}, args, values)) return 0;
  const Inputs inputs = read_inputs(files);
  if (nothing_read(inputs)) {
    fail(ErrorKind::bad_data, "import: nothing could be read from {} file{} (reasons above); {} is as it was",
         files.size(), files.size() == 1 ? "" : "s", file);
  }
  auto database = db::Database::open(file, db::OpenMode::create);
  if (inputs.json_files > 0) add_documents(database, inputs, file);
  if (!inputs.tables.empty() || inputs.unread_files > 0) add_tables(database, inputs, file);
  return 0;
}

}  // namespace wavetune
