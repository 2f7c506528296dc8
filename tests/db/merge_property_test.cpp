// Merging is a union: whatever is merged in whatever order, grouping and repetition says the same in the end.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "canonical.h"
#include "db/merge/merge.h"
#include "db/merge/merged_tables.h"
#include "db/schema.h"
#include "db/sqlite/statement.h"
#include "db/sqlite/transaction.h"
#include "fixtures.h"
#include "random_database.h"

namespace wavetune::db {
namespace {

/// A database in memory, used again and again.
class Memory {
 public:
  Memory() : connection_(":memory:", sqlite::Access::create) {
    migrate(connection_);
    connection_.execute("PRAGMA foreign_keys=ON");
  }

  Memory& clear() {
    const auto tables = merged_tables();
    for (auto table = tables.rbegin(); table != tables.rend(); ++table)
      connection_.execute("DELETE FROM " + table->name);
    return *this;
  }
  Memory& fill(std::mt19937& random) {
    fill_randomly(connection_, random);
    return *this;
  }
  Memory& add(Memory& other) {
    sqlite::Transaction transaction(connection_);
    merge_rows(other.connection_, connection_);
    transaction.commit();
    return *this;
  }
  std::vector<std::string> says() { return canonical_contents(connection_); }

 private:
  sqlite::Connection connection_;
};

TEST(MergeProperty, CommutesAssociatesAndRepeats) {
  std::mt19937 random(20260801);
  Memory a, b, c, ab, ba, bc, left, right;
  int overlaps = 0;
  for (int round = 0; round < 1000; ++round) {
    a.clear().fill(random);
    b.clear().fill(random);
    c.clear().fill(random);
    const auto ab_says = ab.clear().add(a).add(b).says();
    ASSERT_EQ(ba.clear().add(b).add(a).says(), ab_says) << "a + b = b + a, round " << round;
    const auto all = left.clear().add(ab).add(c).says();
    bc.clear().add(c).add(b);
    ASSERT_EQ(right.clear().add(bc).add(a).says(), all) << "(a + b) + c = a + (b + c), round " << round;
    ASSERT_EQ(left.add(c).add(left).add(a).add(ab).says(), all) << "nothing comes twice, round " << round;
    const auto a_says = a.says();
    ASSERT_EQ(ba.clear().add(a).says(), a_says) << "a + nothing = a, round " << round;
    ASSERT_EQ(a.add(b).add(c).says(), all) << "into what is there, round " << round;
    if (ab_says.size() < a_says.size() + b.says().size()) ++overlaps;
  }
  EXPECT_GT(overlaps, 900);
}

TEST(MergeProperty, FilesAnswerAlikeInAnyOrder) {
  std::mt19937 random(7);
  const TemporaryFolder folder;
  for (int round = 0; round < 10; ++round) {
    const auto path = [&](const std::string& name) { return folder / (name + std::to_string(round) + ".db"); };
    std::vector<std::filesystem::path> files;
    for (const char* name : {"a", "b", "c"}) {
      files.push_back(path(name));
      sqlite::Connection connection(files.back(), sqlite::Access::create);
      migrate(connection);
      fill_randomly(connection, random);
    }
    merge_databases(files, path("all"));
    merge_databases({files[2], files[0]}, path("some"));
    merge_databases({files[1], files[0], path("some")}, path("other"));
    merge_databases({path("other")}, path("some"));
    for (const char* name : {"other", "some"}) {
      ASSERT_EQ(canonical_contents(path(name)), canonical_contents(path("all"))) << name << ", round " << round;
      ASSERT_EQ(canonical_answers(path(name)), canonical_answers(path("all"))) << name << ", round " << round;
    }
  }
}

TEST(MergeProperty, EveryTableIsMerged) {
  const TemporaryFolder folder;
  sqlite::Connection connection(folder / "new.db", sqlite::Access::create);
  migrate(connection);
  sqlite::Statement query(connection,
                          "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
  while (query.step()) {
    const std::string name = query.text(0);
    const auto tables = merged_tables();
    const auto found = std::find_if(tables.begin(), tables.end(), [&](const MergedTable& t) { return t.name == name; });
    ASSERT_NE(found, tables.end()) << name << " would be lost: say in merged_tables.cpp how its rows are told apart";
    sqlite::Statement columns(connection, "SELECT name, type FROM pragma_table_info(?1)");
    columns.bind(name);
    while (columns.step()) {
      const std::string column = columns.text(0);
      if (columns.text(1) != "INTEGER" || !column.ends_with("_id")) continue;
      EXPECT_TRUE(found->references.contains(column)) << name << "." << column << " would keep another file's id";
    }
  }
}

}  // namespace
}  // namespace wavetune::db
