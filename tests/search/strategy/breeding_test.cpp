#include "search/strategy/breeding.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace wavetune::search {
namespace {

/// a + b + c is even, so that no valid point has a neighbour that differs in one parameter by one.
SearchSpace even_space() {
  templates::Space space;
  space.add("a", {0, 1, 2, 3}).add("fixed", {7}).add("b", {0, 1, 2, 3}).add("c", {0, 1, 2, 3});
  space.require("even", [](const Config& c) { return (c.at("a") + c.at("b") + c.at("c")) % 2 == 0; });
  return SearchSpace(space);
}

TEST(Breeding, ParametersWithoutAChoiceAreNotOpen) {
  EXPECT_EQ(open_parameters(even_space()), (std::vector<std::size_t>{0, 2, 3}));
}

TEST(Breeding, AValidChildIsItself) {
  const SearchSpace space = even_space();
  std::mt19937_64 random(1);
  EXPECT_EQ(repaired(space, {1, 0, 1, 2}, {0, 0, 0, 0}, random), space.find(Point{1, 0, 1, 2}));
}

TEST(Breeding, AnInvalidChildKeepsWhatItCan) {
  const SearchSpace space = even_space();
  std::mt19937_64 random(1);
  const Point parent = {2, 0, 2, 2};
  const Point child = {3, 0, 1, 1};
  int kept_something = 0;
  for (int i = 0; i < 50; ++i) {
    const Point made = space.at(repaired(space, child, parent, random));
    for (std::size_t p = 0; p < made.size(); ++p) EXPECT_TRUE(made[p] == child[p] || made[p] == parent[p]);
    kept_something += made != parent ? 1 : 0;
  }
  EXPECT_EQ(kept_something, 50) << "one value put back makes it valid";
}

TEST(Breeding, APerturbedPointDiffersInAtMostAsManyParameters) {
  const SearchSpace space = even_space();
  std::mt19937_64 random(3);
  const PointId start = *space.find(Point{1, 0, 1, 0});
  for (const int count : {0, 1, 2}) {
    const Point moved = space.at(perturbed(space, start, count, random));
    const Point from = space.at(start);
    int differing = 0;
    for (std::size_t p = 0; p < from.size(); ++p) differing += from[p] != moved[p] ? 1 : 0;
    EXPECT_LE(differing, count);
  }
}

TEST(Breeding, WithoutNeighboursNothingIsPerturbed) {
  templates::Space one;
  one.add("only", {4});
  std::mt19937_64 random(3);
  EXPECT_EQ(perturbed(SearchSpace(one), 0, 5, random), 0U);
}

}  // namespace
}  // namespace wavetune::search
