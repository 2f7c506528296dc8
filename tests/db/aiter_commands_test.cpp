// AITER's tables through import, export and db show, as a user calls them.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "db/base/file.h"
#include "db/commands/commands.h"
#include "fixtures.h"

namespace wavetune {
namespace {

using db::error_of;
using testing::HasSubstr;
using testing::Not;

const std::string tables = WAVETUNE_SOURCE_DIR "/tests/db/data/aiter/";
constexpr const char* header = "gfx,cu_num,M,N,K,kernelId,splitK,us,kernelName,tflops,bw,errRatio\n";

class AiterCommandsTest : public testing::Test {
 protected:
  struct Output {
    std::string out, err;
  };

  static Output run(int (*command)(const std::vector<std::string>&), const std::vector<std::string>& args) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    EXPECT_EQ(command(args), 0);
    Output output;
    output.out = testing::internal::GetCapturedStdout();
    output.err = testing::internal::GetCapturedStderr();
    return output;
  }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  db::TemporaryFolder folder_;
  std::string file_ = (folder_ / "aiter.db").string();
};

TEST_F(AiterCommandsTest, ImportNamesARowThatItCannotReadAndGoesOn) {
  const std::string bad = write("bad.csv", std::string(header) +
                                               "gfx950,256,1,512,4096,21,0,5.4,kernel_a,0,0,0\n"
                                               "gfx950,256,1,512,4096,21,0,soon,kernel_b,0,0,0\n"
                                               "gfx950,256,2,512,4096,21,0,6.4,kernel_c,0,0,0\n");
  const std::string untuned = write("untuned.csv", "M,N,K\n1,2,3\n");
  Output output = run(import_command, {"--db", file_, bad, untuned, tables + "glm5_fp4_tuned_fmoe.csv"});
  EXPECT_THAT(output.err, HasSubstr(bad + ":3: us is 'soon', not a number\n"));
  EXPECT_THAT(output.err, HasSubstr(untuned + ": not a table that is known: its first columns are 'M,N,K'"));
  EXPECT_THAT(output.out, HasSubstr("bad.csv: 2 rows imported, 0 already there, 1 skipped\n"));
  EXPECT_THAT(output.out, HasSubstr("glm5_fp4_tuned_fmoe.csv: 4 rows imported, 0 already there, 0 skipped\n"));
  EXPECT_TRUE(output.out.ends_with("6 published times added (0 already there); 1 rows and 1 files were left out\n"));
  output = run(import_command, {"--db", file_, bad});
  EXPECT_THAT(output.out, HasSubstr("bad.csv: 0 rows imported, 2 already there, 1 skipped\n"));
}

TEST_F(AiterCommandsTest, NothingReadIsAnErrorAndMakesNoDatabase) {
  const std::string untuned = write("untuned.csv", "M,N,K\n1,2,3\n");
  const std::string hopeless = write("hopeless.csv", std::string(header) + "gfx950,256,1\n");
  testing::internal::CaptureStderr();
  const Error error = error_of([&] { import_command({"--db", file_, untuned, hopeless}); });
  const std::string reasons = testing::internal::GetCapturedStderr();
  EXPECT_EQ(error.exit_code(), 1);
  EXPECT_THAT(error.what(), HasSubstr("nothing could be read from 2 files"));
  EXPECT_THAT(reasons, HasSubstr(hopeless + ":2: has 3 fields, the header 12"));
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(AiterCommandsTest, ABadJsonFileImportsNoTableEither) {
  const std::string bad = write("bad.json", "{\"format\": \"wavetune-db\", \"version\": 1}");
  const Error error = error_of([&] { import_command({"--db", file_, tables + "bf16_tuned_gemm.csv", bad}); });
  EXPECT_THAT(error.what(), HasSubstr("bad.json: document: member 'environments' is missing"));
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(AiterCommandsTest, ExportAndImportAgainAddsNothing) {
  {
    auto database = db::Database::open(file_, db::OpenMode::create);
    database.set_current_source("gemm", "aaaa");
    database.add_trial(db::example_environment(), db::example_trial());
  }
  run(import_command, {"--db", file_, tables + "bf16_tuned_gemm.csv", tables + "glm5_mxfp8_tuned_fmoe.csv"});
  const std::string out = (folder_ / "new/tables").string() + '/';
  Output output = run(export_command, {"--db", file_, "--format", "aiter", "-o", out});
  EXPECT_THAT(output.err, HasSubstr("bf16_tuned_gemm.csv: 3 published rows\n"));
  EXPECT_THAT(output.err, HasSubstr("wavetune_bf16_tuned_gemm.csv: 1 winners of ours, to compare"));
  for (const char* name : {"bf16_tuned_gemm.csv", "glm5_mxfp8_tuned_fmoe.csv"}) {
    EXPECT_EQ(read_file(out + name), read_file(tables + name));
  }
  output = run(import_command, {"--db", file_, out + "bf16_tuned_gemm.csv", out + "glm5_mxfp8_tuned_fmoe.csv",
                                out + "wavetune_bf16_tuned_gemm.csv"});
  EXPECT_THAT(output.out, HasSubstr("0 published times added (6 already there); 1 rows and 0 files were left out"));
  EXPECT_THAT(output.err, HasSubstr("1 rows are wavetune's own winners"));
}

TEST_F(AiterCommandsTest, JsonBringsPublishedTimes) {
  run(import_command, {"--db", file_, tables + "bf16_tuned_gemm.csv"});
  const std::string json = (folder_ / "all.json").string();
  run(export_command, {"--db", file_, "-o", json});
  const std::string copy = (folder_ / "copy.db").string();
  EXPECT_THAT(run(import_command, {"--db", copy, json}).out, HasSubstr(", 3 published times added (0 already there)"));
  EXPECT_THAT(run(import_command, {"--db", copy, json}).out, HasSubstr(", 0 published times added (3 already there)"));
}

TEST_F(AiterCommandsTest, ShowCountsPublishedTimes) {
  run(import_command, {"--db", file_, tables + "bf16_tuned_gemm.csv", tables + "glm5_mxfp8_tuned_fmoe.csv"});
  const std::string text = run(db_command, {"show", "--db", file_}).out;
  EXPECT_THAT(text, testing::ContainsRegex("aiter +gfx950 +256 +fused_moe +mxfp8 +3\n"));
  EXPECT_THAT(text, testing::ContainsRegex("aiter +gfx950 +256 +gemm +bf16_f32 +3\n"));
  EXPECT_THAT(run(db_command, {"show", "--db", file_, "--op", "gemm"}).out, Not(HasSubstr("fused_moe")));
  const auto json = nlohmann::json::parse(run(db_command, {"show", "--db", file_, "--json"}).out);
  EXPECT_EQ(json["published"][0], nlohmann::json({{"implementation", "aiter"},
                                                  {"arch", "gfx950"},
                                                  {"cu_count", 256},
                                                  {"op", "fused_moe"},
                                                  {"dtype", "mxfp8"},
                                                  {"rows", 3}}));
}

TEST_F(AiterCommandsTest, MistakesOfExport) {
  run(import_command, {"--db", file_, tables + "bf16_tuned_gemm.csv"});
  const std::string empty = (folder_ / "empty.db").string();
  db::Database::open(empty, db::OpenMode::create);
  const std::string blocked = write("blocked", "");
  struct Case {
    std::vector<std::string> args;
    ErrorKind kind;
    const char* part;
  };
  const Case cases[] = {
      {{"--db", file_, "--format", "aiter"}, ErrorKind::usage, "-o FOLDER/"},
      {{"--db", empty, "--format", "aiter", "-o", blocked + "x/"}, ErrorKind::not_found, "no published times"},
      {{"--db", file_, "--format", "aiter", "-o", blocked + "/x"}, ErrorKind::io, "blocked"},
      {{"--db", file_, "--format", "aiter", "--winners", "-o", blocked + "x/"}, ErrorKind::usage, "--winners"},
      {{"--db", file_, "--format", "aiter", "--problem", "gemm/bf16", "-o", "x/"}, ErrorKind::usage, "--problem"}};
  for (const Case& one : cases) {
    const Error error = error_of([&] { export_command(one.args); });
    EXPECT_EQ(error.kind(), one.kind) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(one.part));
  }
  EXPECT_FALSE(std::filesystem::exists(blocked + "x"));
}

}  // namespace
}  // namespace wavetune
