// Serving from an exported tuning database: one that is named, and one that comes with the program.
#include "runtime/kernels/tuned_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "collector.h"
#include "db/base/error.h"
#include "db/base/file.h"
#include "db/transfer/json_export.h"
#include "golden.h"
#include "runtime/process/subprocess.h"
#include "templates/registry.h"

namespace wavetune::engine {
namespace {

class TunedSets : public testing::Test {
 protected:
  void TearDown() override { ::unsetenv("WAVETUNE_TUNED_DIR"); }

  EngineOptions options() const {
    EngineOptions result;
    result.model_directory = golden_folder() / "tiny-f32";
    result.device = "cpu";
    result.max_sequences = 4;
    result.max_step_tokens = 16;
    result.max_context = 64;
    result.cache_tokens = 4 * 64;
    result.compiler = test_compile_options();
    return result;
  }

  /// Default configurations as winners of all that `options` serves, on a device that differs from this one in nothing,
  /// or in what `change` changes; with a layout.
  std::filesystem::path write_set(const std::string& name, const std::function<void(db::Environment&)>& change,
                                  bool same_sources = false) {
    const auto provider = hip::load_provider(hip::parse_device_spec("cpu"));
    db::Environment environment = hip::environment_of(*provider, provider->devices().front());
    change(environment);
    const CreatedEngine untuned = create_engine(options());
    auto database = db::Database::open(directory_.path() / (name + ".db"), db::OpenMode::create);
    for (const std::string& key : untuned.coverage.untuned) {
      db::Trial trial;
      trial.problem = db::problem_from_key(key);
      const templates::Operator& op = templates::get_operator(trial.problem.op);
      trial.config = op.default_config(trial.problem, provider->devices().front().limits);
      trial.source_hash = same_sources ? templates::source_hash(op) : "earlier";
      trial.median_us = 1;
      trial.samples_us = {1};
      database.set_current_source(trial.problem.op, trial.source_hash);
      database.add_trial(environment, trial);
      trial.median_us = 2;
      database.add_trial(environment, trial);
    }
    db::Layout layout;
    layout.model_id = untuned.config.id;
    layout.model_name = untuned.config.name;
    database.put_layout(environment, layout);
    const std::filesystem::path file = directory_.path() / (name + ".json");
    std::ofstream out(file);
    db::export_json(database, out, true);
    return file;
  }

  process::TemporaryDirectory directory_;
};

void other_driver(db::Environment& environment) {
  environment.driver = "another driver";
  environment.compiler_version = "another version";
}

TEST_F(TunedSets, AnExportServesOnLikeDevicesWhateverDriverAndSources) {
  EngineOptions served = options();
  served.database = write_set("set", other_driver);
  served.require_tuned = true;
  const CreatedEngine created = create_engine(served);
  EXPECT_EQ(created.coverage.fallback, 0);
  EXPECT_EQ(created.coverage.exact, created.coverage.total());
  EXPECT_EQ(created.layout.source, LayoutSource::stored);
  EXPECT_THAT(created.tuning, testing::AllOf(testing::HasSubstr("set.json: "), testing::HasSubstr("winners for"),
                                             testing::HasSubstr("other kernel sources")));
  EXPECT_EQ(generate(*created.engine, {{{5, 6, 7}, {.temperature = 0, .max_tokens = 4}}}).front().size(), 4u);
}

TEST_F(TunedSets, WinnersOfTheseSourcesAreNotSaidToBeOfOthers) {
  EngineOptions served = options();
  served.database = write_set(
      "set", [](db::Environment&) {}, true);
  EXPECT_THAT(create_engine(served).tuning, testing::Not(testing::HasSubstr("other kernel sources")));
}

TEST_F(TunedSets, OtherDevicesHaveNoPartInIt) {
  EngineOptions served = options();
  served.database = write_set("set", [](db::Environment& environment) { environment.cu_count += 1; });
  EXPECT_EQ(create_engine(served).coverage.fallback, create_engine(served).coverage.total());
}

TEST_F(TunedSets, TheDevicesSetIsFoundWithoutADatabase) {
  write_set("mine", other_driver);
  write_set("another", [](db::Environment& environment) { environment.device = "another device"; });
  std::ofstream(directory_.path() / "broken.json")
      << "{\"" << hip::load_provider(hip::parse_device_spec("cpu"))->devices().front().name << "\"";
  ::setenv("WAVETUNE_TUNED_DIR", directory_.path().c_str(), 1);
  const CreatedEngine created = create_engine(options());
  EXPECT_EQ(created.coverage.fallback, 0);
  EXPECT_THAT(created.tuning, testing::HasSubstr("mine.json"));
}

TEST_F(TunedSets, ABadExportIsOneClearLine) {
  EngineOptions served = options();
  served.database = directory_.path() / "bad.json";
  std::ofstream(*served.database) << "{\"format\": \"something\"}";
  try {
    create_engine(served);
    FAIL() << "started";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("bad.json"));
  }
}

}  // namespace
}  // namespace wavetune::engine
