// Which machines disagree with the others by more than noise.
#include "db/machines.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "db/database.h"
#include "fixtures.h"

namespace wavetune::db {
namespace {

struct Planted {
  std::string machine;
  double factor = 1;
  double share = 1;  ///< of the configurations that it measured
};

std::vector<MachineTime> measured(const std::vector<Planted>& fleet, int configurations, double noise, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::normal_distribution<double> error(0, noise);
  std::uniform_real_distribution<double> uniform;
  std::vector<MachineTime> times;
  for (int i = 0; i < configurations; ++i) {
    const double us = 5 + 100 * uniform(random);
    for (const Planted& machine : fleet) {
      if (uniform(random) < machine.share)
        times.push_back({machine.machine, i, std::log(us * machine.factor) + error(random)});
    }
  }
  return times;
}

std::vector<std::string> deviating(const std::vector<MachineComparison>& comparisons) {
  std::vector<std::string> names;
  for (const MachineComparison& one : comparisons) {
    if (one.deviates) names.push_back(one.machine);
  }
  return names;
}

const MachineComparison& of(const std::vector<MachineComparison>& all, const std::string& name) {
  return *std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.machine == name; });
}

TEST(Machines, PlantedOnesAreFound) {
  struct Case {
    const char* name;
    std::vector<Planted> fleet;
    int configurations;
    double noise;
    std::vector<std::string> expected;
  };
  const Case cases[] = {
      {"one slow of three", {{"a"}, {"b", 1.1}, {"c"}}, 40, 0.01, {"b"}},
      {"one slow of two", {{"a", 1.08}, {"b"}}, 40, 0.01, {"a"}},
      {"one fast of four", {{"a"}, {"b"}, {"c", 0.9}, {"d"}}, 40, 0.01, {"c"}},
      {"two slow of five", {{"a"}, {"b", 1.2}, {"c"}, {"d", 1.06}, {"e"}}, 60, 0.01, {"b", "d"}},
      {"few configurations of a sparse fleet",
       {{"a", 1, 0.5}, {"b", 1, 0.5}, {"c", 1.15, 0.5}, {"d", 1, 0.5}},
       30,
       0.01,
       {"c"}},
      {"within what is tolerated", {{"a"}, {"b", 1.02}, {"c"}}, 200, 0.001, {}},
      {"hidden in noise", {{"a"}, {"b", 1.05}, {"c"}}, 8, 0.3, {}},
      {"too few configurations", {{"a"}, {"b", 1.5}}, fewest_common - 1, 0.001, {}},
      {"alone", {{"a"}}, 100, 0.01, {}},
      {"nothing", {}, 0, 0, {}},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(deviating(compare_machines(measured(one.fleet, one.configurations, one.noise, 1))), one.expected)
        << one.name;
  }
}

TEST(Machines, TheNumberIsTheRatioToTheHealthyOnes) {
  const auto comparisons = compare_machines(measured({{"a"}, {"b", 1.1}, {"c"}}, 100, 0.01, 3));
  EXPECT_NEAR(of(comparisons, "b").ratio, 1.1, 0.01);
  EXPECT_EQ(of(comparisons, "b").common, 100);
  // sqrt(1 + 1/2) x 0.01 / sqrt(100)
  EXPECT_NEAR(of(comparisons, "b").standard_error, 0.00122, 0.0003);
  EXPECT_NEAR(of(comparisons, "a").ratio, 1, 0.01) << "a slow one does not make the others fast";
}

TEST(Machines, NoiseAloneIsNotFlagged) {
  // 5 % of noise is more than devices show; a mean over 20 configurations is then off by 3 % now and then, by 3
  // standard errors seldom.
  int flagged = 0;
  for (int seed = 0; seed < 200; ++seed) {
    const auto found = deviating(compare_machines(measured({{"a"}, {"b"}, {"c"}, {"d"}}, 20, 0.05, seed)));
    flagged += static_cast<int>(found.size());
  }
  EXPECT_LE(flagged, 8) << "of 800 machines";
  for (int seed = 0; seed < 100; ++seed) {
    EXPECT_EQ(deviating(compare_machines(measured({{"a"}, {"b"}, {"c"}}, 50, 0.01, seed))), std::vector<std::string>{})
        << seed;
  }
}

TEST(Machines, RepeatedMeasurementsCountOnce) {
  std::vector<MachineTime> times;
  for (int i = 0; i < 6; ++i) {
    times.push_back({"a", i, std::log(10.0)});
    for (const double us : {10.0, 12.0}) times.push_back({"b", i, std::log(us)});
  }
  const auto comparisons = compare_machines(times);
  EXPECT_EQ(of(comparisons, "b").common, 6);
  EXPECT_NEAR(of(comparisons, "b").ratio, std::sqrt(1.2), 1e-12);
}

TEST(Machines, AreReadFromTheDatabase) {
  const TemporaryFolder folder;
  auto database = Database::open(folder / "fleet.db", OpenMode::create);
  Environment other = example_environment();
  other.driver = "hip 7.3";
  for (int i = 0; i < 10; ++i) {
    for (const auto& [machine, factor] : {std::pair("node1:0", 1.0), std::pair("node2:0", 1.2)}) {
      Trial trial = example_trial(16 + i, factor * (10 + i));
      trial.machine = machine;
      database.add_trial(example_environment(), trial);
    }
    Trial elsewhere = example_trial(16 + i, 1);
    elsewhere.machine = "node3:0";
    database.add_trial(other, elsewhere);
    database.add_trial(example_environment(), example_trial(16 + i, 500));
  }
  Trial failed = example_trial(99, 0);
  failed.outcome = Outcome::wrong;
  failed.machine = "node1:0";
  database.add_trial(example_environment(), failed);

  const std::vector<Machine> machines = database.machines();
  ASSERT_EQ(machines.size(), 4u);
  EXPECT_EQ(machines[0].name, "") << "trials that do not say where they were made are counted";
  EXPECT_EQ(machines[0].trials, 10);
  EXPECT_EQ(machines[0].against_others.common, 0);
  EXPECT_EQ(machines[1].name, "node1:0");
  EXPECT_EQ(machines[1].trials, 11);
  EXPECT_EQ(machines[1].ok, 10);
  EXPECT_FALSE(machines[1].against_others.deviates);
  EXPECT_TRUE(machines[2].against_others.deviates);
  EXPECT_NEAR(machines[2].against_others.ratio, 1.2, 1e-9);
  EXPECT_EQ(machines[3].environment, other);
  EXPECT_EQ(machines[3].against_others.common, 0) << "another driver is another environment";
}

}  // namespace
}  // namespace wavetune::db
