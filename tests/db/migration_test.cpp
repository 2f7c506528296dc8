// Databases of earlier versions go on living.
#include <gmock/gmock.h>

#include <thread>

#include "db/base/file.h"
#include "db/database.h"
#include "db/schema.h"
#include "db/sqlite/statement.h"
#include "fixtures.h"

namespace wavetune::db {
namespace {

/// data/v1.sql is a dump of a file that the first release wrote. It is never made anew: it stands for files in the
/// field.
void make_version_1(const std::filesystem::path& path) {
  sqlite::Connection(path, sqlite::Access::create).execute(read_file(WAVETUNE_SOURCE_DIR "/tests/db/data/v1.sql"));
}

TEST(Migration, KeptVersion1Opens) {
  const TemporaryFolder folder;
  make_version_1(folder / "v1.db");
  const auto database = Database::open(folder / "v1.db", OpenMode::read_write);
  EXPECT_EQ(database.schema_version(), current_schema_version());
  const Environment environment{"AMD Instinct MI355X", "gfx950", 256, "hip 7.2", "hiprtc", "7.2"};
  EXPECT_EQ(database.environments(), std::vector<Environment>{environment});
  EXPECT_EQ(database.count_trials(), 3);
  const auto winner = database.winner(environment, problem_from_key("gemm/bf16/batch=1,k=2048,m=16,n=4096"));
  ASSERT_TRUE(winner);
  EXPECT_EQ(to_text(winner->config), "bm=64,bn=128");
  EXPECT_EQ(winner->median_us, 12.5);
  EXPECT_EQ(winner->resources.occupancy, std::nullopt);  // a later version's column
  EXPECT_EQ(database.trials().at(2).trial.error, "kernel.hip:7: error: „µs“");
  EXPECT_EQ(database.layout(environment, "cafe", 8, Objective::throughput)->tp, 4);
}

const std::string_view more_steps[] = {migration_steps()[0], "ALTER TABLE trials ADD COLUMN clock_mhz INTEGER",
                                       "CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('three')"};

TEST(Migration, StepsRunOnceAndInOrder) {
  const TemporaryFolder folder;
  make_version_1(folder / "v1.db");
  sqlite::Connection connection(folder / "v1.db", sqlite::Access::read_write);
  migrate(connection, std::span(more_steps).first(1));
  EXPECT_EQ(read_schema_version(connection), 1);
  migrate(connection, more_steps);
  migrate(connection, more_steps);
  EXPECT_EQ(read_schema_version(connection), 3);
  EXPECT_EQ(
      connection.scalar("SELECT count(clock_mhz) || group_concat(text) FROM trials, notes WHERE clock_mhz IS NULL"),
      "0three,three,three");
  const Error error = error_of([&] { migrate(connection, std::span(more_steps).first(2)); });
  EXPECT_EQ(error.kind(), ErrorKind::incompatible);
}

TEST(Migration, FailedStepLeavesTheOldVersion) {
  const TemporaryFolder folder;
  make_version_1(folder / "v1.db");
  sqlite::Connection connection(folder / "v1.db", sqlite::Access::read_write);
  const std::string_view steps[] = {migration_steps()[0], "CREATE TABLE notes (text TEXT)",
                                    "INSERT INTO nowhere VALUES (1)"};
  EXPECT_THROW(migrate(connection, steps), Error);
  EXPECT_EQ(read_schema_version(connection), 1);
  EXPECT_EQ(connection.scalar("SELECT count(*) FROM sqlite_master WHERE name = 'notes'"), "0");
}

TEST(Migration, ManyOpenersOfANewFile) {
  const TemporaryFolder folder;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&folder] {
      EXPECT_EQ(Database::open(folder / "new.db", OpenMode::create).schema_version(), current_schema_version());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace wavetune::db
