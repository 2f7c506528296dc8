#include "db/transfer/aiter_export.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>

#include "db/transfer/aiter_table.h"
#include "db/transfer/aiter_winners.h"

namespace wavetune::db {
namespace {

/// Gives each file a name of its own.
class Names {
 public:
  std::string unused(const std::filesystem::path& wanted) {
    const std::filesystem::path usual = wanted.has_stem() && wanted != ".." && wanted != "." ? wanted : "aiter.csv";
    std::string name = usual.string();
    for (int i = 2; !taken_.insert(name).second; ++i) {
      name = fmt::format("{}-{}{}", usual.stem().string(), i, usual.extension().string());
    }
    return name;
  }

 private:
  std::set<std::string> taken_;
};

std::vector<AiterFile> published_files(const std::vector<PublishedTime>& published, Names& names) {
  std::vector<AiterFile> files;
  std::map<std::pair<std::string, std::string>, std::size_t> at;  // of (origin, header)
  for (const PublishedTime& row : published) {
    if (row.implementation != aiter) continue;
    const auto [place, is_new] = at.try_emplace(std::pair(row.origin, row.header), files.size());
    // A database from elsewhere may name any path: only the last part counts.
    if (is_new) files.push_back({names.unused(std::filesystem::path(row.origin).filename()), row.header + '\n'});
    AiterFile& file = files[place->second];
    file.text += row.line + '\n';
    ++file.rows;
  }
  return files;
}

}  // namespace

AiterFiles aiter_files(const Database& database) {
  Names names;
  AiterFiles files{published_files(database.published_times(), names), {}, 0};
  TrialFilter filter;
  filter.only_winners = true;
  const WinnerTables winners = winner_tables(database.trials(filter));
  files.left_out = winners.left_out;
  for (const WinnerTable& table : winners.tables) {
    AiterFile file{names.unused("wavetune_" + table.name + ".csv"), table.header + '\n', table.rows.size()};
    for (const std::string& row : table.rows) file.text += row + '\n';
    files.own.push_back(std::move(file));
  }
  return files;
}

}  // namespace wavetune::db
