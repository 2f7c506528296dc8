#include "search/driver/finalists.h"

#include <gtest/gtest.h>

namespace wavetune::search {
namespace {

db::Trial timed(std::int64_t bm, double median_us, db::Outcome outcome = db::Outcome::ok) {
  db::Trial trial;
  trial.problem = {"gemm", "bf16", {{"m", 1}, {"n", 64}, {"k", 64}}};
  trial.config = {{"bm", bm}};
  trial.outcome = outcome;
  trial.median_us = median_us;
  return trial;
}

std::vector<std::int64_t> tiles(const std::vector<db::Trial>& trials) {
  std::vector<std::int64_t> found;
  for (const db::Trial& trial : trials) found.push_back(trial.config.at("bm"));
  return found;
}

TEST(Finalists, AreThoseNearlyAsFastAsTheFastest) {
  const auto found = finalists_of(
      {timed(1, 10.4), timed(2, 20), timed(3, 10), timed(4, 1, db::Outcome::wrong), timed(5, 10.2), timed(6, 10.6)});
  EXPECT_EQ(tiles(found), (std::vector<std::int64_t>{3, 5, 1}));
}

TEST(Finalists, AreAHandfulAtMost) {
  std::vector<db::Trial> alike;
  for (int i = 0; i < 20; ++i) alike.push_back(timed(i, 10));
  EXPECT_EQ(finalists_of(alike).size(), 5u);
  EXPECT_TRUE(finalists_of({}).empty());
}

}  // namespace
}  // namespace wavetune::search
