// Files that are not what they should be.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "db/base/file.h"
#include "db/database.h"
#include "db/health/garbage.h"
#include "db/health/verify.h"
#include "db/schema.h"
#include "fixtures.h"

namespace wavetune::db {
namespace {

using testing::HasSubstr;

void write(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

/// Closes the database, so that everything is in the one file.
void make_database(const std::filesystem::path& path) {
  auto database = Database::open(path, OpenMode::create);
  database.set_current_source("gemm", "aaaa");
  for (int i = 0; i < 50; ++i) database.add_trial(example_environment(), example_trial(i + 1, 10 + i));
}

TEST(Open, MissingFileIsNamed) {
  const TemporaryFolder folder;
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
    const Error error = error_of([&] { Database::open(folder / "none.db", mode); });
    EXPECT_EQ(error.kind(), ErrorKind::not_found);
    EXPECT_THAT(error.what(), HasSubstr((folder / "none.db").string()));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "none.db"));
  EXPECT_EQ(error_of([&] { Database::open(folder / "no/folder.db", OpenMode::create); }).kind(), ErrorKind::not_found);
  EXPECT_EQ(error_of([&] { Database::open(folder.path(), OpenMode::create); }).kind(), ErrorKind::bad_data);
}

TEST(Open, OtherFilesStayAsTheyAre) {
  const TemporaryFolder folder;
  const std::string contents[] = {"short", std::string(5000, 'x'),
                                  "SQLite format 3, says this text file, but it is none"};
  for (const std::string& content : contents) {
    for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write, OpenMode::create}) {
      const auto path = folder / "text.db";
      write(path, content);
      const Error error = error_of([&] { Database::open(path, mode); });
      EXPECT_EQ(error.kind(), ErrorKind::bad_data);
      EXPECT_THAT(error.what(), HasSubstr(path.string()));
      EXPECT_EQ(read_file(path), content);
    }
  }
}

TEST(Open, SqliteFileOfAnotherProgram) {
  const TemporaryFolder folder;
  const auto path = folder / "foreign.db";
  sqlite::Connection(path, sqlite::Access::create).execute("CREATE TABLE bookmarks (url TEXT); PRAGMA user_version=3");
  const std::string before = read_file(path);
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write, OpenMode::create}) {
    const Error error = error_of([&] { Database::open(path, mode); });
    EXPECT_EQ(error.kind(), ErrorKind::bad_data);
    EXPECT_THAT(error.what(), HasSubstr("not of wavetune"));
  }
  EXPECT_EQ(read_file(path), before);
}

TEST(Open, EmptyFileIsOnlyGoodForCreate) {
  const TemporaryFolder folder;
  write(folder / "empty.db", "");
  EXPECT_EQ(error_of([&] { Database::open(folder / "empty.db", OpenMode::read_only); }).kind(), ErrorKind::bad_data);
  EXPECT_EQ(error_of([&] { Database::open(folder / "empty.db", OpenMode::read_write); }).kind(), ErrorKind::bad_data);
  EXPECT_EQ(Database::open(folder / "empty.db", OpenMode::create).schema_version(), current_schema_version());
}

TEST(Open, NewerSchemaIsRefusedWithBothNumbers) {
  const TemporaryFolder folder;
  const auto path = folder / "newer.db";
  make_database(path);
  sqlite::Connection(path, sqlite::Access::read_write).execute("PRAGMA user_version=99");
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write, OpenMode::create}) {
    const Error error = error_of([&] { Database::open(path, mode); });
    EXPECT_EQ(error.kind(), ErrorKind::incompatible);
    EXPECT_THAT(error.what(), HasSubstr("99"));
    EXPECT_THAT(error.what(), HasSubstr(std::to_string(current_schema_version())));
  }
}

TEST(Open, TruncatedDatabase) {
  const TemporaryFolder folder;
  make_database(folder / "whole.db");
  const std::string whole = read_file(folder / "whole.db");
  ASSERT_GT(whole.size(), 20'000u);
  for (const size_t size :
       {size_t{50}, size_t{4096}, size_t{8192}, whole.size() / 2 / 4096 * 4096, whole.size() - 1000}) {
    const auto path = folder / ("cut" + std::to_string(size) + ".db");
    write(path, whole.substr(0, size));
    const Error error = error_of([&] { Database::open(path, OpenMode::read_only).trials(); });
    EXPECT_EQ(error.kind(), ErrorKind::bad_data) << size << ": " << error.what();
    EXPECT_THAT(error.what(), HasSubstr(path.string()));
    EXPECT_EQ(error_of([&] { Database::open(path, OpenMode::create).trials(); }).kind(), ErrorKind::bad_data) << size;
  }
}

TEST(Open, DamagedPagesAreAnErrorNotACrash) {
  const TemporaryFolder folder;
  make_database(folder / "whole.db");
  std::string content = read_file(folder / "whole.db");
  for (size_t page = 1; page * 4096 < content.size(); ++page) content.replace(page * 4096, 64, 64, '\xA5');
  write(folder / "damaged.db", content);
  EXPECT_EQ(error_of([&] { Database::open(folder / "damaged.db", OpenMode::read_only).trials(); }).kind(),
            ErrorKind::bad_data);
}

/// Runs `check` in a child without root's right to write everywhere; gives its exit code.
template <class Check>
int run_unprivileged(Check&& check) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::getuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(99);
    int code = 98;
    try {
      code = check();
    } catch (const std::exception& error) {
      ::fprintf(stderr, "%s\n", error.what());
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Open, ReadOnlyFile) {
  const TemporaryFolder folder;
  const auto path = folder / "fixed %? #1.db";
  make_database(path);
  ::chmod(path.c_str(), 0444);
  ::chmod(folder.path().c_str(), 0555);
  const auto check = [&path] {
    const auto database = Database::open(path, OpenMode::read_only);
    if (database.count_trials() != 50 || !database.winner(example_environment(), example_problem())) return 1;
    for (const OpenMode mode : {OpenMode::read_write, OpenMode::create}) {
      try {
        Database::open(path, mode);
        return 2;
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::io) return 3;
      }
    }
    if (!verify(path, {}).findings.empty()) return 4;
    if (collect_garbage(path, {.dry_run = true}, {}).kept != 50) return 5;
    try {
      collect_garbage(path, {}, {});
      return 6;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::io) return 7;
    }
    return 0;
  };
  EXPECT_EQ(run_unprivileged(check), 0);
  ::chmod(folder.path().c_str(), 0755);
}

}  // namespace
}  // namespace wavetune::db
