#include "db/commands/export_aiter.h"

#include <filesystem>
#include <iostream>

#include "db/base/error.h"
#include "db/base/file.h"
#include "db/transfer/aiter_export.h"

namespace wavetune {

void export_aiter(const db::Database& database, const std::string& folder) {
  if (folder == "-") fail(ErrorKind::usage, "export: --format aiter writes several files; name a folder, -o FOLDER/");
  const db::AiterFiles files = db::aiter_files(database);
  const std::string path = database.path().string();
  if (files.published.empty() && files.own.empty()) {
    fail(
        ErrorKind::not_found,
        "export: {} has no published times and no winners that AITER's tables have columns for; 'wavetune db show --db "
        "{}' lists what there is",
        path, path);
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(ErrorKind::io, "export: cannot create {}: {}", folder, error.message());
  const auto write = [&folder](const std::vector<db::AiterFile>& all, std::string_view what) {
    for (const db::AiterFile& file : all) {
      const std::filesystem::path to = std::filesystem::path(folder) / file.name;
      write_file_atomic(to, file.text);
      std::cerr << fmt::format("{}: {} {}\n", to.string(), file.rows, what);
    }
  };
  write(files.published, "published rows");
  write(files.own, "winners of ours, to compare: AITER cannot run these kernels");
  if (files.left_out > 0) std::cerr << fmt::format("{} winners have no place in AITER's tables\n", files.left_out);
}

}  // namespace wavetune
