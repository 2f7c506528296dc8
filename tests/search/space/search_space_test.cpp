// The search's view of a space against going through its product.
#include "search/space/search_space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "db/base/error.h"
#include "random_space.h"
#include "templates/t1/t1_file.h"

namespace wavetune::search {
namespace {

using templates::Expression;
using templates::Space;
using templates::Value;

/// With integer values, and conditions over them.
Space space_of(const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& parameters,
               const std::vector<std::string>& conditions) {
  Space space;
  for (const auto& [name, values] : parameters) space.add(name, values);
  for (const std::string& text : conditions) {
    const Expression expression = Expression::parse(text, "condition '" + text + "'");
    std::vector<std::vector<Value>> all;
    for (const std::string& name : expression.names()) {
      std::vector<Value>& values = all.emplace_back();
      for (const auto& [other, integers] : parameters) {
        if (other == name) values.assign(integers.begin(), integers.end());
      }
    }
    space.require(expression, all);
  }
  return space;
}

std::vector<Config> all_of(const SearchSpace& space) {
  std::vector<Config> all;
  for (PointId id = 0; id < space.size(); ++id) all.push_back(space.config(id));
  return all;
}

/// Ids of the points that differ in one parameter, by their parameter: what steps and changes are to give.
std::vector<PointId> brute_neighbours(const SearchSpace& space, const std::vector<Config>& all, PointId id,
                                      bool nearest) {
  std::vector<PointId> result;
  for (const templates::Parameter& parameter : space.parameters()) {
    std::optional<PointId> under;
    std::optional<PointId> over;
    for (PointId other = 0; other < all.size(); ++other) {
      if (other == id) continue;
      Config same = all[other];
      same[parameter.name] = all[id].at(parameter.name);
      if (same != all[id]) continue;
      if (!nearest) {
        result.push_back(other);
        continue;
      }
      const std::int64_t value = all[other].at(parameter.name);
      const std::int64_t here = all[id].at(parameter.name);
      if (value < here && (!under || all[*under].at(parameter.name) < value)) under = other;
      if (value > here && (!over || all[*over].at(parameter.name) > value)) over = other;
    }
    if (under) result.push_back(*under);
    if (over) result.push_back(*over);
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<PointId> sorted(std::vector<PointId> ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

void expect_same(const Space& space, const std::vector<Config>& expected) {
  const SearchSpace search(space);
  ASSERT_EQ(search.size(), expected.size());
  EXPECT_EQ(all_of(search), expected);
  for (PointId id = 0; id < search.size(); ++id) {
    EXPECT_EQ(search.find(search.at(id)), id);
    EXPECT_EQ(search.find(expected[id]), id);
    if (id % 7 != 0) continue;
    EXPECT_EQ(sorted(search.steps(id)), brute_neighbours(search, expected, id, true));
    EXPECT_EQ(sorted(search.changes(id)), brute_neighbours(search, expected, id, false));
  }
  std::uint64_t members = 0;
  for (std::uint64_t position = 0; position < space.product_size(); ++position) {
    if (search.find(space.at(position))) ++members;
  }
  EXPECT_EQ(members, expected.size());
}

TEST(SearchSpace, RandomSpacesAreTheirValidConfigurations) {
  int compared = 0;
  int faulted = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Space space = test::RandomSpace(seed).make();
    std::string conditions;
    for (const auto& constraint : space.constraints()) conditions += constraint.description + "; ";
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, conditions));
    std::vector<Config> expected;
    try {
      expected = space.enumerate();
    } catch (const Error&) {
      // One that faults somewhere: the diagram may have left that place out before it came to the fault.
      ++faulted;
      try {
        for (const Config& config : all_of(SearchSpace(space))) EXPECT_TRUE(space.valid(config));
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::bad_data) << error.what();
      }
      continue;
    }
    ++compared;
    expect_same(space, expected);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(compared, 200);
  EXPECT_GT(faulted, 10);
}

TEST(SearchSpace, OfOnePointAndOfNone) {
  expect_same(space_of({{"a", {3}}, {"b", {4}}}, {}), {{{"a", 3}, {"b", 4}}});
  expect_same(space_of({{"a", {1, 2}}, {"b", {4}}}, {"a * b == 8"}), {{{"a", 2}, {"b", 4}}});
  expect_same(space_of({{"a", {1, 2}}, {"b", {4}}}, {"a > b"}), {});
  expect_same(space_of({{"a", {1, 2}}}, {"False"}), {});
  expect_same(space_of({{"a", {1}}}, {"1 < 2 and 3"}), {{{"a", 1}}});
  expect_same(Space(), {Config()});
  Space impossible;
  impossible.require("never", [](const Config&) { return false; });
  EXPECT_EQ(SearchSpace(impossible).size(), 0u);
  const SearchSpace none(space_of({{"a", {1, 2}}, {"b", {4}}}, {"a > b"}));
  EXPECT_EQ(none.find(Config{{"a", 1}, {"b", 4}}), std::nullopt);
}

TEST(SearchSpace, FindsOnlyWhatIsThere) {
  const SearchSpace space(space_of({{"a", {1, 2, 3}}, {"b", {1, 2, 3}}}, {"a != b"}));
  EXPECT_EQ(space.find(Config{{"a", 1}}), std::nullopt);
  EXPECT_EQ(space.find(Config{{"a", 1}, {"c", 2}}), std::nullopt);
  EXPECT_EQ(space.find(Config{{"a", 1}, {"b", 4}}), std::nullopt);
  EXPECT_EQ(space.find(Config{{"a", 2}, {"b", 2}}), std::nullopt);
  EXPECT_EQ(space.find(Point{0, 3}), std::nullopt);
  EXPECT_EQ(space.find(Point{0}), std::nullopt);
  EXPECT_EQ(space.find(Point{1, 0}), 0u);
}

TEST(SearchSpace, DrawsUniformly) {
  const SearchSpace space(
      space_of({{"a", {1, 2, 4, 8}}, {"b", {1, 2, 4, 8}}, {"c", {0, 1, 2}}}, {"a * b <= 16", "c == 0 or a > c"}));
  std::mt19937_64 random(7);
  std::vector<double> seen(space.size());
  const int draws = 20000;
  for (int i = 0; i < draws; ++i) ++seen[space.draw(random)];
  const double expected = draws / static_cast<double>(space.size());
  double chi_square = 0;
  for (const double count : seen) chi_square += (count - expected) * (count - expected) / expected;
  // Mean and standard deviation of chi-square with that many degrees of freedom.
  const double freedom = static_cast<double>(space.size()) - 1;
  EXPECT_LT(std::abs(chi_square - freedom), 3 * std::sqrt(2 * freedom)) << chi_square;
}

TEST(SearchSpace, GuardedFaultsAreNoFaults) {
  const auto values = std::vector<std::int64_t>{0, 1, 2, 3};
  for (const char* condition :
       {"a == 0 or b % a == 0", "a != 0 and b % a == 0", "b == 1 or a == 0 or c // a > b",
        "a > 0 and c % a == 1 or b > 2", "not (a != 0 and b // a > 1) or c == 0", "a == 0 or 6 / a > b + c"}) {
    const Space space = space_of({{"a", values}, {"b", values}, {"c", values}}, {condition});
    expect_same(space, space.enumerate());
    const Space reversed = space_of({{"c", values}, {"b", values}, {"a", values}}, {condition});
    expect_same(reversed, reversed.enumerate());
  }
}

TEST(SearchSpace, FaultsNameTheValues) {
  try {
    const SearchSpace space(space_of({{"a", {0, 1}}, {"b", {1, 2}}, {"c", {5}}}, {"b < 2 or b % a == 0"}));
    FAIL() << space.size();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "condition 'b < 2 or b % a == 0': division by zero in 2 % 0: in 'b < 2 or b % a == 0' with b=2, a=0");
  }
}

TEST(SearchSpace, WideParameters) {
  std::vector<std::int64_t> wide(65536);
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<std::int64_t>(i);
  EXPECT_THROW(SearchSpace(space_of({{"a", wide}}, {})), Error);
  wide.pop_back();
  const SearchSpace space(space_of({{"a", wide}, {"b", {2, 3}}}, {"a % b == 0"}));
  EXPECT_EQ(space.size(), 32768u + 21845u);
}

TEST(SearchSpace, IsTheRecordedOne) {
  const std::string folder = std::string(WAVETUNE_SOURCE_DIR) + "/tests/data/benchmark-hub/";
  for (const char* kernel : {"convolution", "dedispersion"}) {
    const Space space = templates::space_of(templates::read_t1(folder + kernel + "_space_T1.json"));
    EXPECT_EQ(all_of(SearchSpace(space)), space.enumerate()) << kernel;
  }
}

/// 8 to 10 parameters, a product of 10^10, constraints that link them all: never gone through one by one.
TEST(SearchSpace, LargeSpacesAreNotEnumerated) {
  std::vector<std::int64_t> to_32;
  for (std::int64_t i = 1; i <= 32; ++i) to_32.push_back(i);
  const std::vector<std::int64_t> powers{1, 2, 4, 8, 16, 32, 64, 128, 256};
  const auto written = space_of({{"x", to_32},
                                 {"y", to_32},
                                 {"z", to_32},
                                 {"tx", powers},
                                 {"ty", powers},
                                 {"tz", powers},
                                 {"u", powers},
                                 {"v", powers},
                                 {"s", {0, 1}}},
                                {"32 <= x * y * z <= 1024", "tx * ty * tz <= 512",
                                 "s == 0 or x * tx * y * ty * 4 <= 49152", "tx % u == 0", "ty % v == 0"});
  const SearchSpace space(written);
  EXPECT_GT(space.size(), 10'000'000u);
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const PointId id = space.draw(random);
    EXPECT_EQ(space.find(space.at(id)), id);
    EXPECT_TRUE(written.valid(space.config(id)));
    for (const PointId other : space.steps(id)) EXPECT_LT(other, space.size());
  }
}

}  // namespace
}  // namespace wavetune::search
