#include "search/layout/traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/base/error.h"

namespace wavetune::search {
namespace {

TEST(Traffic, IsReadFromOneText) {
  const Traffic traffic = parse_traffic("in=20000,out=1000,hit=0.6,spread=0.2,arrivals=even,rate=2/0.5,seed=7");
  EXPECT_EQ(traffic.input, 20000);
  EXPECT_EQ(traffic.output, 1000);
  EXPECT_EQ(traffic.hit, 0.6);
  EXPECT_EQ(traffic.spread, 0.2);
  EXPECT_EQ(traffic.arrivals, Arrivals::even);
  EXPECT_THAT(traffic.rates, testing::ElementsAre(0.5, 2));
  EXPECT_EQ(traffic.seed, 7u);
  EXPECT_THAT(parse_traffic("clients=1/16").clients, testing::ElementsAre(1, 16));
  EXPECT_EQ(parse_traffic("").input, Traffic{}.input);
}

TEST(Traffic, WrongPartsAreNamed) {
  for (const char* text : {"in=0", "in=1.5", "in", "out=x", "hit=1.1", "hit=-0.1", "spread=2", "rate=0", "rate=1/x",
                           "clients=0", "arrivals=burst", "speed=3", "rate=1,clients=2", "in=1e99"}) {
    try {
      parse_traffic(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage) << text;
      EXPECT_THAT(error.what(), testing::HasSubstr("--workload")) << text;
    }
  }
}

TEST(Traffic, TheSameSeedGivesTheSameRequestsAtEveryRate) {
  const Traffic traffic = parse_traffic("in=1000,out=100,hit=0.5,spread=0.5");
  const auto slow = make_trace(traffic, 1, 1000), fast = make_trace(traffic, 10, 1000);
  double input = 0;
  for (std::size_t i = 0; i < slow.size(); ++i) {
    EXPECT_EQ(slow[i].input, fast[i].input);
    EXPECT_NEAR(slow[i].arrival_us, 10 * fast[i].arrival_us, 1e-3);
    EXPECT_GE(slow[i].input, 500);
    EXPECT_LE(slow[i].input, 1000);
    EXPECT_EQ(slow[i].cached, slow[i].input / 2);
    input += static_cast<double>(slow[i].input);
  }
  EXPECT_NEAR(input / 1000, 750, 15);
  EXPECT_NEAR(slow.back().arrival_us / 1e6, 1000, 100) << "mean gap of a second";
}

TEST(Traffic, AFullHitStillComputesTheLastToken) {
  const auto trace = make_trace(parse_traffic("in=10,out=1,hit=1,arrivals=even"), 2, 3);
  EXPECT_EQ(trace[0].cached, 9);
  EXPECT_EQ(trace[2].arrival_us, 1e6);
}

}  // namespace
}  // namespace wavetune::search
