// Kernels from outside that go wrong on purpose: each is one recorded outcome, and the run goes on. On the device that
// WAVETUNE_TEST_DEVICE names, else on the CPU.
#include <gtest/gtest.h>

#include <cstdlib>

#include "db/database.h"
#include "runtime/hip/provider.h"
#include "tests/search/spec/run_tune.h"

namespace wavetune::search {
namespace {

using test::SpecFolder;
using test::TuneRun;

struct Planted {
  const char* spec;
  db::Outcome outcome;
};
class PlantedSpecs : public testing::TestWithParam<Planted> {};
INSTANTIATE_TEST_SUITE_P(All, PlantedSpecs,
                         testing::Values(Planted{"planted_fault.json", db::Outcome::fault},
                                         Planted{"planted_hang.json", db::Outcome::timeout},
                                         Planted{"planted_wrong.json", db::Outcome::wrong}),
                         [](const auto& planted) { return std::string(db::to_string(planted.param.outcome)); });

TEST_P(PlantedSpecs, EndAsOneOutcomeAndTheRunGoesOn) {
  const char* named = std::getenv("WAVETUNE_TEST_DEVICE");
  const std::string device = named != nullptr ? named : "cpu";
  try {
    (void)hip::load_provider(hip::parse_device_spec(device));
  } catch (const std::exception& error) {
    GTEST_SKIP() << error.what();
  }
  const SpecFolder folder;
  const TuneRun run = folder.run({"tune", "--spec", folder.path(GetParam().spec).string(), "--db",
                                  folder.database().string(), "--device", device, "--budget", "none"});
  ASSERT_EQ(run.exit_code, 0) << run.output;
  const db::Database database = db::Database::open(folder.database(), db::OpenMode::read_only);
  int right = 0, planted = 0;
  for (const db::StoredTrial& stored : database.trials()) {
    const db::Trial& trial = stored.trial;
    if (trial.config.at("planted") == 0) {
      EXPECT_EQ(db::to_string(trial.outcome), "ok") << trial.error;
      ++right;
    } else {
      EXPECT_EQ(db::to_string(trial.outcome), db::to_string(GetParam().outcome)) << trial.error;
      ++planted;
    }
  }
  EXPECT_EQ(planted, 1);
  EXPECT_GE(right, 4) << "finalists are there twice";
}

}  // namespace
}  // namespace wavetune::search
