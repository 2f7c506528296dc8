// `wavetune inspect` as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "db/base/file.h"
#include "db/database.h"
#include "runtime/hip/amd/hiprtc_install.h"
#include "runtime/jit/target.h"
#include "runtime/process/subprocess.h"
#include "search/space/search_space.h"
#include "templates/registry.h"
#include "tests/cli/run_binary.h"

namespace wavetune::test {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

class Inspect : public testing::Test {
 protected:
  void SetUp() override {
    const hip::amd::HiprtcSearch search = hip::amd::find_hiprtc();
    if (!search.found) GTEST_SKIP() << "no hipRTC in " << search.looked << "; ./setup.sh fetches one";
  }
  std::string path(const char* name) const { return (folder_.path() / name).string(); }
  static nlohmann::json json_of(Words words) {
    words.emplace_back("--json");
    const RunResult result = run_wavetune(words);
    if (result.exit_code != 0) throw std::runtime_error(result.err);
    return nlohmann::json::parse(result.out, nullptr, false);
  }

 private:
  process::TemporaryDirectory folder_{"wavetune-inspect"};
};

const Words gemm = {"inspect", "--op", "gemm_bf16", "--shape", "4096x6144x2048"};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_F(Inspect, TextSaysAllThatIsKnown) {
  const RunResult result = run_wavetune(gemm);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"gemm/bf16/batch=1,k=2048,m=4096,n=6144 on gfx950 (hiprtc ", "configuration (default): ",
                           "gemm_main: ", "VGPR ", "LDS ", "waves per SIMD", "limited by", "inner loop", "MFMA cycles",
                           "issue cycles (overlapped)", "(serial)", "bounds: arithmetic 40.96 us"}) {
    // 103 GFLOP at 1024 flop a cycle and SIMD is 40.96 us; at gfx942's instruction, 81.92 us.
    if (std::string_view(part).starts_with("bounds")) {
      EXPECT_TRUE(result.out.find("arithmetic 40.96 us") != std::string::npos ||
                  result.out.find("arithmetic 81.92 us") != std::string::npos)
          << result.out;
      continue;
    }
    EXPECT_THAT(result.out, HasSubstr(part));
  }
  EXPECT_THAT(result.out, testing::Not(HasSubstr("s_endpgm")));
  EXPECT_THAT(run_wavetune(with(gemm, {"--disassembly"})).out, HasSubstr("s_endpgm"));
}

TEST_F(Inspect, JsonAndOtherArchitecture) {
  for (const char* arch : {"gfx950", "gfx942"}) {
    const nlohmann::json json = json_of(with(gemm, {"--arch", arch, "--kernel", "gemm_main"}));
    EXPECT_EQ(json["arch"], arch);
    ASSERT_EQ(json["kernels"].size(), 1u);
    const nlohmann::json& kernel = json["kernels"][0];
    EXPECT_EQ(kernel["kernel"], "gemm_main");
    EXPECT_TRUE(kernel["occupancy"]["resident"].get<bool>());
    EXPECT_GT(kernel["loop"]["mix"]["MFMA"].get<int>(), 0);
    EXPECT_GT(kernel["loop"]["mfma_share_overlapped"].get<double>(), kernel["loop"]["mfma_share_serial"].get<double>());
    EXPECT_LE(kernel["loop"]["mfma_share_overlapped"].get<double>(), 1.0);
    EXPECT_GT(json["bounds"]["arithmetic_us"].get<double>(), 0.0);
  }
}

TEST_F(Inspect, StartsFromTheDatabase) {
  const templates::Operator& op = templates::get_operator("gemm");
  const jit::CompileTarget target = jit::compile_target_for_arch("gfx950");
  const db::Problem problem{"gemm", "bf16", {{"batch", 1}, {"m", 4096}, {"n", 6144}, {"k", 2048}}};
  const db::Config usual = op.default_config(problem, target.limits);
  const search::SearchSpace space(op.space(problem, target.limits));
  const std::vector<search::PointId> others = space.steps(*space.find(usual));
  ASSERT_FALSE(others.empty());
  {
    db::Database database = db::Database::open(path("t.db"), db::OpenMode::create);
    db::Trial trial;
    trial.problem = problem;
    trial.config = space.config(others.front());
    trial.source_hash = templates::source_hash(op);
    trial.median_us = 50;
    trial.samples_us = {50};
    database.set_current_source("gemm", trial.source_hash);
    database.add_trial({"AMD Instinct MI355X", "gfx950", 256, "amdhip64 7.2", "hiprtc", "7.2"}, trial);
  }
  const nlohmann::json json = json_of(with(gemm, {"--db", path("t.db")}));
  EXPECT_EQ(json["config_from"], "winner in " + path("t.db") + ", 50 us");
  EXPECT_EQ(json["config"].get<db::Config>(), space.config(others.front()));
  // Nothing for another architecture: the default, and said so.
  const nlohmann::json other = json_of(with(gemm, {"--db", path("t.db"), "--arch", "gfx942"}));
  EXPECT_THAT(other["config_from"].get<std::string>(), HasSubstr("has nothing for this shape on gfx942"));
}

TEST_F(Inspect, ForeignCodeObjects) {
  const jit::CompileTarget target = jit::compile_target_for_arch("gfx950");
  jit::CompileOptions options;
  options.workers = 1;
  options.worker_executable = WAVETUNE_BINARY;
  options.cache_directory = path("cache");
  jit::CompileService service(options);
  const jit::CompileResult compiled = service.compile(
      {target.device, "extern \"C\" __global__ __launch_bounds__(128) void k(float* x) { x[threadIdx.x] = 1; }",
       target.options});
  ASSERT_EQ(compiled.outcome, db::Outcome::ok) << compiled.log;
  write_file_atomic(path("k.hsaco"), {reinterpret_cast<const char*>(compiled.code.data()), compiled.code.size()});
  const nlohmann::json json = json_of({"inspect", "--code-object", path("k.hsaco"), "--lds", "81921"});
  EXPECT_EQ(json["kernels"][0]["threads"], 128);
  EXPECT_EQ(json["kernels"][0]["occupancy"]["blocks_per_cu"], 1);
  EXPECT_FALSE(json["kernels"][0]["loop"]["is_loop"].get<bool>());
  const RunResult text = run_wavetune({"inspect", "--code-object", path("k.hsaco")});
  EXPECT_THAT(text.out, HasSubstr("no loop"));
  const RunResult wrong = run_wavetune({"inspect", "--code-object", path("k.hsaco"), "--kernel", "q"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("there is no kernel 'q'; it has: k"));
}

TEST_F(Inspect, Errors) {
  const std::string text_file = path("text");
  write_file_atomic(text_file, "not an object");
  const struct {
    Words words;
    int exit_code;
    const char* part;
  } cases[] = {
      {{"inspect"}, 2, "inspect needs --op"},
      {{"inspect", "--op", "gemm_bf16"}, 2, "inspect needs --shape"},
      {{"inspect", "--op", "gem", "--shape", "1x1x1"}, 2, "there is no operator 'gem'"},
      {with(gemm, {"--arch", "gfx1"}), 2, "gfx1"},
      {with(gemm, {"--config", "bq=3"}), 2, "there is no parameter 'bq'"},
      {with(gemm, {"--config", "bm=3"}), 2, "bm=3 is not in the space"},
      {with(gemm, {"--db", path("none.db")}), 1, "none.db"},
      {with(gemm, {"--rank", "0"}), 2, "--rank 0 must be at least 1"},
      {with(gemm, {"--rank", "2", "--db", "x.db"}), 2, "--db and --rank do not go together"},
      {with(gemm, {"--kernel", "main"}), 2, "there is no kernel 'main'"},
      {{"inspect", "--code-object", path("none")}, 1, "none"},
      {{"inspect", "--code-object", text_file}, 1, "is not an ELF code object"},
      {{"inspect", "--code-object", text_file, "--op", "gemm"}, 2, "do not go together"},
  };
  for (const auto& [words, exit_code, part] : cases) {
    const RunResult result = run_wavetune(words);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

}  // namespace
}  // namespace wavetune::test
