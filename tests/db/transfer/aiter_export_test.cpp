// AITER's tables out again: what was imported as it came, and our winners in the same columns.
#include "db/transfer/aiter_export.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "db/base/csv.h"
#include "db/base/file.h"
#include "db/transfer/aiter_table.h"
#include "db/transfer/aiter_winners.h"
#include "db/transfer/json_export.h"
#include "db/transfer/json_import.h"
#include "tests/db/fixtures.h"

namespace wavetune::db {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::filesystem::path> real_tables() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(WAVETUNE_SOURCE_DIR "/tests/db/data/aiter")) {
    if (entry.path().extension() == ".csv") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Trial trial_of(Problem problem, double median_us) {
  Trial trial = example_trial(64, median_us);
  trial.problem = std::move(problem);
  return trial;
}

Problem gemm(const std::string& dtype, std::int64_t m = 16) {
  return {"gemm", dtype, {{"batch", 1}, {"m", m}, {"n", 4096}, {"k", 2048}}};
}

Problem grouped(std::int64_t n, std::int64_t k, std::int64_t swiglu, const std::string& dtype = "mxfp4") {
  return {"grouped_gemm", dtype, {{"experts", 257}, {"k", k}, {"m", 64}, {"n", n}, {"swiglu", swiglu}, {"topk", 9}}};
}

class AiterExportTest : public testing::Test {
 protected:
  AiterExportTest() {
    database_.set_current_source("gemm", "aaaa");
    database_.set_current_source("grouped_gemm", "aaaa");
  }
  void add(const Trial& trial, const Environment& environment = example_environment()) {
    database_.add_trial(environment, trial);
  }
  void import(const std::string& text, const std::string& name) {
    database_.add_published(read_aiter_table(text, name).rows);
  }
  /// Cells of the only row of our own table, by column.
  std::map<std::string, std::string> own_row(const std::string& name) const {
    std::map<std::string, std::string> cells;
    for (const AiterFile& file : aiter_files(database_).own) {
      if (file.name != name) continue;
      std::istringstream lines(file.text);
      std::string header, line, more;
      EXPECT_TRUE(std::getline(lines, header) && std::getline(lines, line));
      EXPECT_FALSE(std::getline(lines, more)) << more;
      const auto columns = csv_fields(header).value(), values = csv_fields(line).value();
      EXPECT_EQ(columns.size(), values.size());
      for (std::size_t i = 0; i < columns.size(); ++i) cells[columns[i]] = values.at(i);
    }
    return cells;
  }

  TemporaryFolder folder_;
  Database database_ = Database::open(folder_ / "aiter.db", OpenMode::create);
};

TEST_F(AiterExportTest, RealTablesRoundTrip) {
  for (const auto& path : real_tables()) import(read_file(path), path.string());
  const AiterFiles files = aiter_files(database_);
  EXPECT_THAT(files.own, IsEmpty());
  std::set<std::string> names;
  auto again = Database::open(folder_ / "again.db", OpenMode::create);
  for (const AiterFile& file : files.published) {
    names.insert(file.name);
    EXPECT_EQ(file.text, read_file(std::filesystem::path(WAVETUNE_SOURCE_DIR "/tests/db/data/aiter") / file.name));
    const AiterRows read = read_aiter_table(file.text, file.name);
    EXPECT_EQ(database_.add_published(read.rows).added, 0) << file.name;
    again.add_published(read.rows);
  }
  EXPECT_EQ(names.size(), real_tables().size());
  const AiterFiles second = aiter_files(again);
  ASSERT_EQ(second.published.size(), files.published.size());
  for (std::size_t i = 0; i < files.published.size(); ++i) EXPECT_EQ(second.published[i].text, files.published[i].text);
}

TEST_F(AiterExportTest, JsonCarriesPublishedTimes) {
  for (const auto& path : real_tables()) import(read_file(path), path.string());
  std::ostringstream out;
  export_json(database_, out);
  const ImportedDocument document = document_from_json(out.str(), "x.json");
  EXPECT_EQ(document.published, database_.published_times());
  EXPECT_EQ(database_.add_published(document.published).added, 0);
  std::ostringstream winners;
  export_json(database_, winners, true);
  EXPECT_THAT(document_from_json(winners.str(), "x.json").published, IsEmpty());
}

TEST_F(AiterExportTest, MistakesInJsonNameThePlace) {
  using nlohmann::json;
  import(read_file(real_tables().front()), "x.csv");
  std::ostringstream out;
  export_json(database_, out);
  const json good = json::parse(out.str());
  const std::pair<const char*, json> cases[] = {{"us", 0},
                                                {"us", -1},
                                                {"us", "fast"},
                                                {"cu_count", "many"},
                                                {"line", ""},
                                                {"line", "two\nlines"},
                                                {"header", "two\rlines"},
                                                {"origin", "folder/x.csv"},
                                                {"origin", ".."},
                                                {"origin", ""},
                                                {"created_at", "yesterday"},
                                                {"kernel", nullptr}};
  for (const auto& [member, value] : cases) {
    json bad = good;
    bad["published"][1][member] = value;
    const Error error = error_of([&] { document_from_json(bad.dump(), "in.json"); });
    EXPECT_EQ(error.kind(), ErrorKind::bad_data);
    EXPECT_THAT(error.what(), testing::StartsWith(std::string("in.json: published[1].") + member));
  }
}

TEST_F(AiterExportTest, FilesOfOneNameStayApart) {
  const std::string header = "gfx,cu_num,M,N,K,kernelId,splitK,us,kernelName,tflops,bw,errRatio";
  const std::string other = "gfx,cu_num,M,N,K,libtype,kernelId,splitK,us,kernelName,tflops,bw,errRatio";
  import(header + "\ngfx950,256,1,2,3,0,0,1.5,a,0,0,0\n", "here/x.csv");
  import(header + "\ngfx950,256,4,5,6,0,0,1.5,b,0,0,0\n", "there/x.csv");
  import(other + "\ngfx950,256,1,2,3,ck,0,0,1.5,a,0,0,0\n", "x.csv");
  const AiterFiles files = aiter_files(database_);
  ASSERT_EQ(files.published.size(), 2);
  EXPECT_EQ(files.published[0].name, "x.csv");
  EXPECT_EQ(files.published[0].rows, 2);
  EXPECT_EQ(files.published[1].name, "x-2.csv");
  EXPECT_EQ(files.published[1].rows, 1);
}

TEST_F(AiterExportTest, AnOriginCannotLeaveTheFolder) {
  PublishedTime row;
  row.implementation = aiter;
  row.problem = example_problem();
  row.us = 1;
  std::vector<PublishedTime> rows;
  for (const char* origin : {"../../x.csv", "/etc/x", "..", ".", ""}) {
    row.origin = origin;
    row.line = origin;
    rows.push_back(row);
  }
  database_.add_published(rows);
  std::vector<std::string> names;
  for (const AiterFile& file : aiter_files(database_).published) names.push_back(file.name);
  EXPECT_THAT(names, ElementsAre("x.csv", "x", "aiter.csv", "aiter-2.csv", "aiter-3.csv"));
}

TEST_F(AiterExportTest, OnlyAitersRowsAreWritten) {
  PublishedTime row;
  row.implementation = "another";
  row.problem = example_problem();
  row.us = 1;
  database_.add_published(std::vector<PublishedTime>{row});
  EXPECT_THAT(aiter_files(database_).published, IsEmpty());
}

TEST_F(AiterExportTest, WinnersOfProducts) {
  Trial bf16 = trial_of(gemm("bf16"), 12.5);
  bf16.config["split_k"] = 4;
  add(bf16);
  add(trial_of(gemm("fp8_token"), 8));
  Trial loose = trial_of(gemm("fp8_block"), 9);
  loose.max_error = INFINITY;
  add(loose);
  add(trial_of(gemm("mxfp4"), 4));
  EXPECT_EQ(aiter_files(database_).own.size(), 4);

  auto row = own_row("wavetune_bf16_tuned_gemm.csv");
  for (const auto& [column, value] :
       std::map<std::string, std::string>{{"gfx", "gfx950"},
                                          {"cu_num", "256"},
                                          {"M", "16"},
                                          {"N", "4096"},
                                          {"K", "2048"},
                                          {"bias", "False"},
                                          {"dtype", "torch.bfloat16"},
                                          {"outdtype", "torch.bfloat16"},
                                          {"libtype", "wavetune"},
                                          {"solidx", "-1"},
                                          {"splitK", "4"},
                                          {"us", "12.5000"},
                                          {"kernelName", "wavetune:bm=64,bn=128,split_k=4"},
                                          {"err_ratio", "0.0"},
                                          // 2 * 16 * 4096 * 2048 / 12.5 us
                                          {"tflops", "21.47"},
                                          // ((16 + 4096) * 2048 + 16 * 4096) * 2 / 12.5 us
                                          {"bw", "1357.91"}}) {
    EXPECT_EQ(row[column], value) << column;
  }
  row = own_row("wavetune_a8w8_bpreshuffle_tuned_gemm.csv");
  EXPECT_EQ(row["q_dtype_w"], "torch.float8_e4m3fn");
  EXPECT_EQ(row["kernelId"], "-1");
  EXPECT_EQ(row["splitK"], "0");
  EXPECT_EQ(row["bw"], "1069.06");  // ((16 + 4096) * 2048 + 16 * 4096 * 2) / 8 us
  row = own_row("wavetune_a8w8_blockscale_tuned_gemm.csv");
  EXPECT_EQ(row["libtype"], "wavetune");
  EXPECT_EQ(row["errRatio"], "") << "beyond the tolerance somewhere: how often is not known";
  row = own_row("wavetune_a4w4_blockscale_tuned_gemm.csv");
  EXPECT_EQ(row["kernelName"], "wavetune:bm=64,bn=128");
  EXPECT_EQ(row["bw"], "1085.44");  // ((16 + 4096) * 2048 / 2 + 16 * 4096 * 2) / 4 us
}

TEST_F(AiterExportTest, TflopsAndBandwidthAreThoseOfAiter) {
  // A row of aiter/configs/bf16_tuned_gemm.csv: 64,256,5120, float32 result, 7.9191 us: 21.19 and 417.92.
  add(trial_of({"gemm", "bf16_f32", {{"batch", 1}, {"m", 64}, {"n", 256}, {"k", 5120}}}, 7.9191));
  const auto row = own_row("wavetune_bf16_tuned_gemm.csv");
  EXPECT_EQ(row.at("outdtype"), "torch.float32");
  EXPECT_EQ(row.at("tflops"), "21.19");
  EXPECT_EQ(row.at("bw"), "417.92");
}

TEST_F(AiterExportTest, PairsOfGroupedProductsAreAFusedMoe) {
  add(trial_of(grouped(512, 6144, 1), 100));
  EXPECT_THAT(aiter_files(database_).own, IsEmpty()) << "half a pair";
  EXPECT_EQ(aiter_files(database_).left_out, 1);
  add(trial_of(grouped(6144, 512, 0), 50));
  const auto row = own_row("wavetune_tuned_fmoe.csv");
  for (const auto& [column, value] : std::map<std::string, std::string>{{"token", "64"},
                                                                        {"model_dim", "6144"},
                                                                        {"inter_dim", "512"},
                                                                        {"expert", "257"},
                                                                        {"topk", "9"},
                                                                        {"q_dtype_a", "torch.float4_e2m1fn_x2"},
                                                                        {"q_dtype_w", "torch.float4_e2m1fn_x2"},
                                                                        {"q_type", "QuantType.per_1x32"},
                                                                        {"use_g1u1", "1"},
                                                                        {"block_m", "64"},
                                                                        {"us1", "100.0000"},
                                                                        {"kernelName1", "wavetune:bm=64,bn=128"},
                                                                        {"err1", "0.0%"},
                                                                        {"us2", "50.0000"},
                                                                        {"us", "150.0000"},
                                                                        // 6 * 64 * 9 * 6144 * 512 / 150 us
                                                                        {"tflops", "72.48"},
                                                                        {"_tag", ""}}) {
    EXPECT_EQ(row.at(column), value) << column;
  }
  EXPECT_EQ(aiter_files(database_).left_out, 0);
}

TEST_F(AiterExportTest, HalvesOfDifferentDevicesAreNoPair) {
  Environment other = example_environment();
  other.driver = "hip 7.3";
  add(trial_of(grouped(512, 6144, 1), 100));
  add(trial_of(grouped(6144, 512, 0), 50), other);
  EXPECT_THAT(aiter_files(database_).own, IsEmpty());
}

TEST_F(AiterExportTest, TheFastestOfSeveralDriversCounts) {
  Environment other = example_environment();
  other.driver = "hip 7.3";
  add(trial_of(gemm("bf16"), 12));
  add(trial_of(gemm("bf16"), 11), other);
  EXPECT_EQ(own_row("wavetune_bf16_tuned_gemm.csv").at("us"), "11.0000");
}

TEST_F(AiterExportTest, WinnersWithoutAPlaceAreCounted) {
  Problem batched = gemm("bf16");
  batched.dims["batch"] = 8;
  add(trial_of(batched, 12));
  add(trial_of(gemm("f32"), 12));
  add(trial_of(gemm("fp8_mxfp4"), 12));
  database_.set_current_source("rope", "aaaa");
  add(trial_of({"rope", "bf16", {{"m", 64}}}, 12));
  const AiterFiles files = aiter_files(database_);
  EXPECT_THAT(files.own, IsEmpty());
  EXPECT_EQ(files.left_out, 4);
}

TEST_F(AiterExportTest, OurTablesAreKnownTablesButNotPublishedTimes) {
  for (const char* dtype : {"bf16", "fp8_token", "fp8_block", "mxfp4"}) add(trial_of(gemm(dtype), 12));
  add(trial_of(grouped(512, 6144, 1), 100));
  add(trial_of(grouped(6144, 512, 0), 50));
  const AiterFiles files = aiter_files(database_);
  EXPECT_EQ(files.own.size(), 5);
  for (const AiterFile& file : files.own) {
    const AiterRows read = read_aiter_table(file.text, file.name);
    EXPECT_EQ(read.own, 1) << file.name;
    EXPECT_THAT(read.rows, IsEmpty()) << file.name;
    EXPECT_THAT(read.unread, IsEmpty()) << file.name;
  }
}

}  // namespace
}  // namespace wavetune::db
