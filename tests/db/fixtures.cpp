#include "fixtures.h"

#include <cstdlib>

namespace wavetune::db {

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "wavetune-db-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw Error(ErrorKind::io, "cannot make a temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Environment example_environment() { return {"AMD Instinct MI355X", "gfx950", 256, "hip 7.2", "hiprtc", "7.2"}; }

Problem example_problem(std::int64_t m) { return {"gemm", "bf16", {{"batch", 1}, {"m", m}, {"n", 4096}, {"k", 2048}}}; }

Trial example_trial(std::int64_t bm, double median_us) {
  Trial trial;
  trial.problem = example_problem();
  trial.config = {{"bm", bm}, {"bn", 128}};
  trial.source_hash = "aaaa";
  trial.median_us = median_us;
  trial.samples_us = {median_us, median_us + 0.1, median_us - 0.30000000000000004};
  trial.compile_ms = 321.25;
  trial.max_error = 0.125;
  trial.resources.vgpr = 128;
  trial.resources.lds_bytes = 65536;
  trial.resources.spills = 0;
  trial.resources.occupancy = 4;
  trial.state.clock_mhz = 1755;
  trial.state.power_w = 412;
  return trial;
}

Layout example_layout() {
  Layout layout;
  layout.model_id = "cafe";
  layout.model_name = "GLM-5.2";
  layout.devices = 8;
  layout.tp = 4;
  layout.dp = 2;
  LayoutRow chosen;
  chosen.tp = 4;
  chosen.dp = 2;
  chosen.decode_step_us = 1234.5;
  chosen.decode_batch = 64;
  chosen.decode_tokens_per_s = 1e5;
  chosen.score = 1e5;
  chosen.measured_share = 0.75;
  chosen.estimated = {"rope/bf16/m=64", "sample/f32/m=64"};
  chosen.memory_bytes_per_device = 1.5e11;
  LayoutRow other;
  other.tp = 1;
  other.dp = 8;
  other.fits = false;
  other.reason = "needs 744 GB of 288 GB";
  layout.table = {other, chosen};
  return layout;
}

}  // namespace wavetune::db
