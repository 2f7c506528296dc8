// Going through a space one configuration at a time.
#include <gtest/gtest.h>

#include "templates/space.h"

namespace wavetune::templates {
namespace {

TEST(SpaceVisit, SeesWhatEnumerateGivesAndStopsWhenTold) {
  Space space;
  space.add("a", {1, 2, 3}).add("b", {1, 2, 3});
  space.require("a and b differ", {"a", "b"}, [](const Config& c) { return c.at("a") != c.at("b"); });
  std::vector<Config> seen;
  space.visit([&seen](const Config& config) {
    seen.push_back(config);
    return true;
  });
  EXPECT_EQ(seen, space.enumerate());
  EXPECT_EQ(seen.size(), 6u);
  int visits = 0;
  space.visit([&visits](const Config&) { return ++visits < 4; });
  EXPECT_EQ(visits, 4);
}

}  // namespace
}  // namespace wavetune::templates
