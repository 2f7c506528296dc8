// Published times: each row once, never a winner.
#include "db/published_time.h"

#include <gmock/gmock.h>

#include <cmath>

#include "fixtures.h"

namespace wavetune::db {
namespace {

PublishedTime published(std::string line, double us = 5.5, std::int64_t m = 16) {
  PublishedTime row;
  row.implementation = "aiter";
  row.arch = "gfx950";
  row.cu_count = 256;
  row.problem = example_problem(m);
  row.us = us;
  row.kernel = "f4gemm";
  row.header = "gfx,cu_num,M";
  row.line = std::move(line);
  row.origin = "table.csv";
  row.created_at = "2026-08-01T12:34:56.789Z";
  return row;
}

class PublishedTimeTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  Database database_ = Database::open(folder_ / "published.db", OpenMode::create);
};

TEST_F(PublishedTimeTest, ComesBackAsItWas) {
  PublishedTime other = published("a \"quoted\" line", 0.1, 32);
  other.arch = "gfx942";
  other.cu_count = 304;
  const std::vector<PublishedTime> rows = {published("one"), other};
  EXPECT_EQ(database_.add_published(rows).added, 2);
  const Database reader = Database::open(folder_ / "published.db", OpenMode::read_only);
  EXPECT_EQ(reader.published_times(), rows);
  EXPECT_EQ(reader.published_times("gfx942"), std::vector<PublishedTime>{other});
  EXPECT_EQ(reader.published_times("", 256), std::vector<PublishedTime>{rows[0]});
  EXPECT_THAT(reader.published_times("gfx942", 256), testing::IsEmpty());
}

TEST_F(PublishedTimeTest, IsAddedOnce) {
  const std::vector<PublishedTime> rows = {published("one"), published("two"), published("one")};
  PublishCounts counts = database_.add_published(rows);
  EXPECT_EQ(counts.added, 2);
  EXPECT_EQ(counts.known, 1);
  // From another file it is the same row; in a table of other columns it is not.
  PublishedTime moved = published("one");
  moved.origin = "copy.csv";
  PublishedTime wider = published("one");
  wider.header += ",N";
  PublishedTime foreign = published("one");
  foreign.implementation = "another";
  counts = database_.add_published(std::vector<PublishedTime>{moved, wider, foreign});
  EXPECT_EQ(counts.added, 2);
  EXPECT_EQ(counts.known, 1);
  EXPECT_EQ(database_.published_times().size(), 4);
}

TEST_F(PublishedTimeTest, IsDatedWhenStored) {
  PublishedTime row = published("one");
  row.created_at.clear();
  database_.add_published(std::vector<PublishedTime>{row});
  EXPECT_THAT(database_.published_times().at(0).created_at, testing::StartsWith("20"));
}

TEST_F(PublishedTimeTest, NeverWins) {
  database_.set_current_source("gemm", "aaaa");
  database_.add_published(std::vector<PublishedTime>{published("one", 0.5)});
  EXPECT_THAT(database_.all_winners(), testing::IsEmpty());
  EXPECT_EQ(database_.count_trials(), 0);
  database_.add_trial(example_environment(), example_trial(64, 12.5));
  EXPECT_EQ(database_.winner(example_environment(), example_problem())->median_us, 12.5);
}

TEST_F(PublishedTimeTest, OneBadTimeAddsNothing) {
  for (const double us : {0.0, -1.0, static_cast<double>(INFINITY), static_cast<double>(NAN)}) {
    const std::vector<PublishedTime> rows = {published("one"), published("two", us)};
    EXPECT_EQ(error_of([&] { database_.add_published(rows); }).kind(), ErrorKind::internal) << us;
  }
  EXPECT_THAT(database_.published_times(), testing::IsEmpty());
}

}  // namespace
}  // namespace wavetune::db
