// Code objects of winners: stored once by content, found by what was compiled, dropped when nothing that wins has them.
#include "db/winner_code.h"

#include <gmock/gmock.h>

#include "fixtures.h"

namespace wavetune::db {
namespace {

std::vector<std::byte> code_of(char letter, std::size_t size = 5000) {
  return std::vector<std::byte>(size, static_cast<std::byte>(letter));
}

class WinnerCodeTest : public testing::Test {
 protected:
  WinnerCodeTest() { database_.set_current_source("gemm", "aaaa"); }

  void add(std::int64_t bm, double median_us, std::int64_t m = 16) {
    Trial trial = example_trial(bm, median_us);
    trial.problem = example_problem(m);
    database_.add_trial(example_environment(), trial);
  }
  bool put(std::int64_t bm, const std::string& key, const std::vector<std::byte>& code, std::int64_t m = 16) {
    return database_.put_winner_code(example_environment(), example_problem(m), {example_trial(bm).config, key, code});
  }
  std::optional<std::string> key(std::int64_t m = 16) const {
    return database_.winner_code_key(example_environment(), example_problem(m));
  }

  TemporaryFolder folder_;
  Database database_ = Database::open(folder_ / "code.db", OpenMode::create);
};

TEST_F(WinnerCodeTest, IsFoundByWhatWasCompiled) {
  add(64, 12.5);
  EXPECT_EQ(key(), std::nullopt);
  EXPECT_TRUE(put(64, "key", code_of('a')));
  EXPECT_EQ(key(), "key");
  const Database reader = Database::open(folder_ / "code.db", OpenMode::read_only);
  EXPECT_EQ(reader.code("key"), code_of('a'));
  EXPECT_EQ(reader.code("another"), std::nullopt);
  EXPECT_LT(reader.code_totals().bytes, 1000) << "compressed";
}

TEST_F(WinnerCodeTest, OnlyTheWinnersCodeIsTaken) {
  EXPECT_FALSE(put(64, "key", code_of('a'))) << "no trial yet";
  add(64, 12.5);
  add(128, 10);
  EXPECT_FALSE(put(64, "key", code_of('a')));
  EXPECT_TRUE(put(128, "key", code_of('b')));
  EXPECT_EQ(database_.code_totals().objects, 1);
}

TEST_F(WinnerCodeTest, AFormerWinnersCodeIsDropped) {
  add(64, 12.5);
  EXPECT_TRUE(put(64, "old", code_of('a')));
  add(128, 10);
  EXPECT_EQ(key(), std::nullopt) << "the new winner has none yet";
  EXPECT_EQ(database_.code("old"), code_of('a')) << "until then the old one is still good";
  EXPECT_TRUE(put(128, "new", code_of('b')));
  EXPECT_EQ(database_.code("old"), std::nullopt);
  EXPECT_EQ(database_.code("new"), code_of('b'));
  EXPECT_EQ(database_.code_totals().objects, 1);
}

TEST_F(WinnerCodeTest, ProblemsOfOneCodeShareOneObject) {
  add(64, 12.5, 16);
  add(64, 20, 32);
  EXPECT_TRUE(put(64, "key", code_of('a'), 16));
  EXPECT_TRUE(put(64, "key", code_of('a'), 32));
  EXPECT_EQ(database_.code_totals().objects, 1);
  add(128, 10, 16);
  EXPECT_TRUE(put(128, "new", code_of('b'), 16));
  EXPECT_EQ(database_.code("key"), code_of('a')) << "m=32 still has it";
  EXPECT_EQ(database_.code_totals().objects, 2);
}

TEST_F(WinnerCodeTest, TrialsOfOtherSourcesHaveNoSay) {
  add(64, 12.5);
  EXPECT_TRUE(put(64, "key", code_of('a')));
  database_.set_current_source("gemm", "bbbb");
  EXPECT_EQ(key(), std::nullopt);
  EXPECT_FALSE(put(64, "key", code_of('a')));
}

TEST_F(WinnerCodeTest, AnEmptyObjectAndALargeOneComeBack) {
  add(64, 12.5, 16);
  add(64, 12.5, 32);
  std::vector<std::byte> large(3'000'000);
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<std::byte>(i * 2654435761u >> 13);
  EXPECT_TRUE(put(64, "empty", {}, 16));
  EXPECT_TRUE(put(64, "large", large, 32));
  EXPECT_EQ(database_.code("empty"), std::vector<std::byte>());
  EXPECT_EQ(database_.code("large"), large);
}

TEST_F(WinnerCodeTest, ADamagedObjectCountsAsAbsent) {
  add(64, 12.5);
  EXPECT_TRUE(put(64, "key", code_of('a')));
  const char* damages[] = {"UPDATE code_objects SET code = substr(code, 1, length(code) - 5)",
                           "UPDATE code_objects SET bytes = 4999", "UPDATE code_objects SET bytes = 1000000000000",
                           "UPDATE code_objects SET hash = 'x'", "UPDATE code_objects SET code = x''"};
  sqlite::Connection connection(folder_ / "code.db", sqlite::Access::read_write);
  connection.execute("PRAGMA foreign_keys=OFF");
  for (const char* damage : damages) {
    connection.execute("SAVEPOINT before");
    connection.execute(damage);
    if (std::string_view(damage).find("hash") != std::string_view::npos)
      connection.execute("UPDATE trial_code SET code_hash = 'x'");
    EXPECT_EQ(find_code(connection, "key"), std::nullopt) << damage;
    connection.execute("ROLLBACK TO before");
    connection.execute("RELEASE before");
    EXPECT_EQ(find_code(connection, "key"), code_of('a'));
  }
}

}  // namespace
}  // namespace wavetune::db
