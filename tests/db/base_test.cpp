#include <gtest/gtest.h>

#include "db/base/command_line.h"
#include "db/base/file.h"
#include "db/base/hash.h"
#include "db/base/time.h"
#include "db/problem.h"
#include "fixtures.h"

namespace wavetune {
namespace {

using db::error_of;

TEST(Problem, KeyRoundTrip) {
  const db::Problem problem = db::example_problem();
  EXPECT_EQ(problem.key(), "gemm/bf16/batch=1,k=2048,m=16,n=4096");
  EXPECT_EQ(db::problem_from_key(problem.key()), problem);
  EXPECT_EQ(db::problem_from_key("x/f32/"), (db::Problem{"x", "f32", {}}));
  EXPECT_EQ(problem.dim("k"), 2048);
  EXPECT_EQ(problem.dim_or("heads", 1), 1);
  EXPECT_EQ(error_of([&] { problem.dim("heads"); }).kind(), ErrorKind::internal);
  for (const char* key : {"", "gemm", "gemm/f32", "/f32/m=1", "gemm/f32/m", "gemm/f32/m=", "gemm/f32/=1",
                          "gemm/f32/m=1,m=2", "gemm/f32/m=1.5", "gemm/f32/m=99999999999999999999"}) {
    EXPECT_EQ(error_of([&] { db::problem_from_key(key); }).kind(), ErrorKind::bad_data) << key;
  }
}

TEST(Hash, KnownValue) {
  // xxhsum -H128 of an empty input.
  EXPECT_EQ(content_hash(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_NE(content_hash("a"), content_hash("b"));
}

TEST(Time, SortsAsText) {
  const std::string first = utc_now();
  EXPECT_EQ(first.size(), 24u);
  EXPECT_LE(first, utc_now());
}

TEST(Time, AfterIsLaterEvenWhenTheClockHasGoneBack) {
  EXPECT_EQ(utc_after("2999-12-31T23:59:59.999Z"), "3000-01-01T00:00:00.000Z");
  EXPECT_EQ(utc_after("2999-01-01T00:00:00.041Z"), "2999-01-01T00:00:00.042Z");
  const std::string now = utc_now();
  EXPECT_GT(utc_after(now), now);
  EXPECT_GE(utc_after(""), now);
  EXPECT_EQ(error_of([] { utc_after("tomorrow"); }).kind(), ErrorKind::bad_data);
}

TEST(Duration, Units) {
  EXPECT_EQ(parse_duration_seconds("90", "--budget"), 90);
  EXPECT_EQ(parse_duration_seconds("1.5m", "--budget"), 90);
  EXPECT_EQ(parse_duration_seconds("2h", "--budget"), 7200);
  for (const char* text : {"", "x", "5d", "-3s", "3 s"}) {
    EXPECT_EQ(error_of([&] { parse_duration_seconds(text, "--budget"); }).kind(), ErrorKind::usage) << text;
  }
}

TEST(File, AtomicWriteReplaces) {
  const db::TemporaryFolder folder;
  write_file_atomic(folder / "f", "one");
  write_file_atomic(folder / "f", "two");
  EXPECT_EQ(read_file(folder / "f"), "two");
  EXPECT_EQ(error_of([&] { read_file(folder / "g"); }).kind(), ErrorKind::not_found);
}

}  // namespace
}  // namespace wavetune
