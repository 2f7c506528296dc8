// Tuned tables of AITER: which one it is, what its rows mean, what cannot be read.
#include "db/transfer/aiter_table.h"

#include <gmock/gmock.h>

#include <map>

#include "db/base/csv.h"
#include "db/base/file.h"
#include "db/transfer/aiter_formats.h"
#include "tests/db/fixtures.h"

namespace wavetune::db {
namespace {

using testing::HasSubstr;

constexpr const char* bf16_header =
    "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio,tflops,bw";
constexpr const char* a8w8_header =
    "gfx,cu_num,M,N,K,q_dtype_w,libtype,kernelId,splitK,us,kernelName,tflops,bw,errRatio";
constexpr const char* block_header = "gfx,cu_num,M,N,K,libtype,kernelId,splitK,us,kernelName,tflops,bw,errRatio";
constexpr const char* a4w4_header = "gfx,cu_num,M,N,K,kernelId,splitK,us,kernelName,tflops,bw,errRatio";
constexpr const char* moe_header =
    "gfx,cu_num,token,model_dim,inter_dim,expert,topk,act_type,dtype,q_dtype_a,q_dtype_w,q_type,use_g1u1,"
    "doweight_stage1,block_m,ksplit,us1,kernelName1,err1,us2,kernelName2,err2,us,run_1stage,xbf16,flat,tflops,bw,_tag";

/// A row whose cells are `usual` but for the columns in `changes`.
std::string row_of(const std::string& header, std::map<std::string, std::string> usual,
                   const std::map<std::string, std::string>& changes = {}) {
  for (const auto& [column, value] : changes) usual[column] = value;
  std::string line;
  const auto columns = csv_fields(header).value();
  for (const std::string& column : columns) line += (&column == columns.data() ? "" : ",") + csv_cell(usual[column]);
  return line;
}

const std::map<std::string, std::string> gemm_cells = {{"gfx", "gfx950"},
                                                       {"cu_num", "256"},
                                                       {"M", "16"},
                                                       {"N", "4096"},
                                                       {"K", "2048"},
                                                       {"bias", "False"},
                                                       {"dtype", "torch.bfloat16"},
                                                       {"outdtype", "torch.bfloat16"},
                                                       {"q_dtype_w", "torch.float8_e4m3fn"},
                                                       {"libtype", "ck"},
                                                       {"us", "5.25"},
                                                       {"kernelName", "kernel_a"}};
const std::map<std::string, std::string> moe_cells = {{"gfx", "gfx950"},    {"cu_num", "256"},
                                                      {"token", "64"},      {"model_dim", "6144"},
                                                      {"inter_dim", "512"}, {"expert", "257"},
                                                      {"topk", "9"},        {"dtype", "torch.bfloat16"},
                                                      {"use_g1u1", "1"},    {"q_dtype_a", "torch.float4_e2m1fn_x2"},
                                                      {"us1", "100"},       {"q_dtype_w", "torch.float4_e2m1fn_x2"},
                                                      {"us2", "107.5"},     {"q_type", "QuantType.per_1x32"},
                                                      {"us", "207.5"},      {"kernelName1", "up"},
                                                      {"run_1stage", "0"},  {"kernelName2", "down"}};

AiterRows read_one(const std::string& header, const std::string& row) {
  return read_aiter_table(header + "\n" + row + "\n", "folder/table.csv");
}

TEST(AiterTable, IsToldByItsHeader) {
  struct Case {
    const char* header;
    std::optional<AiterTable> table;
  };
  const Case cases[] = {
      {bf16_header, AiterTable::bf16_gemm},
      {a8w8_header, AiterTable::a8w8_gemm},
      // a8w8_tuned_gemm.csv, before and after it got a libtype
      {"gfx,cu_num,M,N,K,q_dtype_w,kernelId,splitK,us,kernelName,tflops,bw,errRatio", AiterTable::a8w8_gemm},
      {"gfx,cu_num,M,N,K,q_dtype_w,kernelId,splitK,us,kernelName,tflops,bw,errRatio,libtype", AiterTable::a8w8_gemm},
      {block_header, AiterTable::a8w8_blockscale_gemm},
      {a4w4_header, AiterTable::a4w4_blockscale_gemm},
      {moe_header, AiterTable::fused_moe},
      {"cu_num,token,model_dim,inter_dim,expert,topk,act_type,dtype,q_dtype_a,q_dtype_w,q_type,use_g1u1,"
       "doweight_stage1,block_m,ksplit,us1,kernelName1,err1,us2,kernelName2,err2,us,run_1stage,tflops,bw,_tag",
       AiterTable::fused_moe},
      {"gfx,cu_num,B,M,N,K,kernelId,splitK,us,kernelName,tflops,bw,errRatio", std::nullopt},
      {"M,N,K", std::nullopt},
      {"M,N,K,bias,outdtype,splitK,us", std::nullopt},
      {"token,model_dim,inter_dim,expert,topk,act_type,dtype,q_dtype_a,q_dtype_w,q_type,use_g1u1,doweight_stage1",
       std::nullopt},
      {"arch,dtype,K,V,BT,H,duration", std::nullopt},
      {"\"gfx", std::nullopt},
      {"", std::nullopt}};
  for (const Case& one : cases) EXPECT_EQ(aiter_table(one.header), one.table) << one.header;
  const Error error = error_of([] { read_aiter_table("M,N,K\n1,2,3\n", "untuned.csv"); });
  EXPECT_EQ(error.kind(), ErrorKind::bad_data);
  EXPECT_THAT(error.what(), HasSubstr("untuned.csv: not a table that is known: its first columns are 'M,N,K'"));
  EXPECT_THAT(error.what(), HasSubstr("fused MoE"));
}

TEST(AiterTable, RowsOfProducts) {
  struct Case {
    const char* header;
    std::map<std::string, std::string> changes;
    const char* dtype;
  };
  const Case cases[] = {{bf16_header, {}, "bf16"},
                        {bf16_header, {{"outdtype", "torch.float32"}}, "bf16_f32"},
                        {bf16_header, {{"bias", "True"}}, "bf16_bias"},
                        {bf16_header, {{"dtype", "torch.float16"}, {"outdtype", "torch.float16"}}, "f16"},
                        {a8w8_header, {}, "fp8_token"},
                        {a8w8_header, {{"q_dtype_w", "torch.float8_e4m3fnuz"}}, "fp8_token"},
                        {a8w8_header, {{"q_dtype_w", "torch.int8"}}, "int8_token"},
                        {block_header, {}, "fp8_block"},
                        {a4w4_header, {}, "mxfp4"}};
  for (const Case& one : cases) {
    const std::string line = row_of(one.header, gemm_cells, one.changes);
    const AiterRows read = read_one(one.header, line);
    ASSERT_EQ(read.rows.size(), 1) << line;
    const PublishedTime& row = read.rows[0];
    EXPECT_EQ(row.problem.key(), std::string("gemm/") + one.dtype + "/batch=1,k=2048,m=16,n=4096");
    EXPECT_EQ(row.implementation, "aiter");
    EXPECT_EQ(row.arch, "gfx950");
    EXPECT_EQ(row.cu_count, 256);
    EXPECT_EQ(row.us, 5.25);
    EXPECT_EQ(row.kernel, "kernel_a");
    EXPECT_EQ(row.header, one.header);
    EXPECT_EQ(row.line, line);
    EXPECT_EQ(row.origin, "table.csv");
    EXPECT_EQ(row.created_at, "");
  }
}

TEST(AiterTable, RowsOfFusedMoe) {
  struct Case {
    const char *activations, *weights, *type, *dtype;
  };
  const char *const fp4 = "torch.float4_e2m1fn_x2", *const fp8 = "torch.float8_e4m3fn";
  const char *const bf16 = "torch.bfloat16", *const int8 = "torch.int8", *const int4 = "torch.int4";
  const Case cases[] = {
      {fp4, fp4, "QuantType.per_1x32", "mxfp4"},           {fp8, fp8, "QuantType.per_1x32", "mxfp8"},
      {fp8, fp8, "QuantType.per_1x128", "fp8_block"},      {fp8, fp8, "QuantType.per_128x128", "fp8_block"},
      {fp8, fp8, "QuantType.per_Token", "fp8_token"},      {fp8, fp8, "QuantType.per_Tensor", "fp8_tensor"},
      {int8, int8, "QuantType.per_Tensor", "int8_tensor"}, {bf16, bf16, "QuantType.No", "bf16"},
      {bf16, fp4, "QuantType.per_1x32", "bf16_mxfp4"},     {fp8, fp4, "QuantType.per_1x32", "mxfp8_mxfp4"},
      {bf16, int4, "QuantType.per_1x32", "bf16_int4_1x32"}};
  for (const Case& one : cases) {
    const std::string line = row_of(moe_header, moe_cells,
                                    {{"q_dtype_a", one.activations}, {"q_dtype_w", one.weights}, {"q_type", one.type}});
    const AiterRows read = read_one(moe_header, line);
    ASSERT_EQ(read.rows.size(), 1) << line;
    EXPECT_EQ(read.rows[0].problem.key(),
              std::string("fused_moe/") + one.dtype + "/experts=257,k=6144,m=64,n=512,topk=9");
    EXPECT_EQ(read.rows[0].us, 207.5);
    EXPECT_EQ(read.rows[0].kernel, "up + down");
  }
  const AiterRows one_stage =
      read_one(moe_header, row_of(moe_header, moe_cells, {{"run_1stage", "1"}, {"kernelName2", ""}}));
  EXPECT_EQ(one_stage.rows.at(0).kernel, "up");
}

TEST(AiterTable, OldTablesAreReadAsAiterReadsThem) {
  const std::string header = std::string(moe_header).substr(4);  // without gfx
  const std::pair<const char*, const char*> cases[] = {{"256", "gfx950"}, {"304", "gfx942"}, {"80", "gfx942"}};
  for (const auto& [cu_num, arch] : cases) {
    const AiterRows read = read_one(header, row_of(header, moe_cells, {{"cu_num", cu_num}}));
    ASSERT_EQ(read.rows.size(), 1);
    EXPECT_EQ(read.rows[0].arch, arch);
  }
  const AiterRows read = read_one(header, row_of(header, moe_cells, {{"cu_num", "96"}}));
  EXPECT_THAT(read.unread.at(0).reason, HasSubstr("cu_num 96 does not tell"));
}

TEST(AiterTable, WhatCannotBeReadIsNamed) {
  struct Case {
    const char* header;
    std::map<std::string, std::string> changes;
    const char* part;
  };
  const Case cases[] = {{bf16_header, {{"us", "0.0"}}, "us is 0.0"},
                        {bf16_header, {{"us", "-1"}}, "us is -1"},
                        {bf16_header, {{"us", "inf"}}, "us is inf"},
                        {bf16_header, {{"us", "nan"}}, "us is nan"},
                        {bf16_header, {{"us", "1e999"}}, "us is '1e999'"},
                        {bf16_header, {{"us", "fast"}}, "us is 'fast', not a number"},
                        {bf16_header, {{"us", "5.0us"}}, "us is '5.0us', not a number"},
                        {bf16_header, {{"us", ""}}, "us is missing"},
                        {bf16_header, {{"M", "16.5"}}, "M is '16.5', not a whole number"},
                        {bf16_header, {{"M", "0"}}, "M is 0"},
                        {bf16_header, {{"N", "-4096"}}, "N is -4096"},
                        {bf16_header, {{"K", "99999999999999999999"}}, "K is '99999999999999999999'"},
                        {bf16_header, {{"K", "3000000000"}}, "K is 3000000000"},
                        {bf16_header, {{"cu_num", ""}}, "cu_num is missing"},
                        {bf16_header, {{"gfx", ""}}, "gfx is missing"},
                        {bf16_header, {{"dtype", "torch.float64"}}, "dtype torch.float64"},
                        {bf16_header, {{"outdtype", "torch.int8"}}, "outdtype torch.int8"},
                        {bf16_header, {{"bias", "maybe"}}, "bias maybe"},
                        {a8w8_header, {{"q_dtype_w", "torch.float6"}}, "q_dtype_w torch.float6"},
                        {a8w8_header, {{"kernelName", ""}}, "kernelName is missing"},
                        {moe_header, {{"q_type", "QuantType.per_Moon"}}, "QuantType.per_Moon"},
                        {moe_header, {{"use_g1u1", "0"}}, "use_g1u1 is 0"},
                        {moe_header, {{"topk", "-1"}}, "topk is -1"},
                        {moe_header, {{"kernelName2", ""}}, "kernelName2 is missing"}};
  for (const Case& one : cases) {
    const bool moe = one.header == moe_header;
    const std::string good = row_of(one.header, moe ? moe_cells : gemm_cells);
    const std::string bad = row_of(one.header, moe ? moe_cells : gemm_cells, one.changes);
    // What stands around it is read.
    const AiterRows read = read_aiter_table(fmt::format("{}\n{}\n{}\n{}\n", one.header, good, bad, good), "x.csv");
    EXPECT_EQ(read.rows.size(), 2) << one.part;
    ASSERT_EQ(read.unread.size(), 1) << one.part;
    EXPECT_EQ(read.unread[0].line, 3);
    EXPECT_THAT(read.unread[0].reason, HasSubstr(one.part));
  }
}

TEST(AiterTable, RowsOfTheWrongLength) {
  const std::string good = row_of(moe_header, moe_cells);
  ASSERT_TRUE(good.ends_with(",")) << "the last column, _tag, is empty";
  const std::string tagless = good.substr(0, good.size() - 1);
  EXPECT_EQ(read_one(moe_header, tagless).rows.at(0).line, tagless);
  EXPECT_THAT(read_one(moe_header, good + ",").unread.at(0).reason, HasSubstr("has 30 fields, the header 29"));
  EXPECT_THAT(read_one(moe_header, tagless.substr(0, tagless.rfind(','))).unread.at(0).reason,
              HasSubstr("has 27 fields, the header 29"));
  // A field that is lost in the middle moves the others.
  const std::string short_row = row_of(block_header, gemm_cells).substr(std::string("gfx950,").size());
  EXPECT_THAT(read_one(block_header, short_row).unread.at(0).reason, HasSubstr("has 12 fields, the header 13"));
  EXPECT_THAT(read_one(block_header, "\"gfx950,256").unread.at(0).reason, HasSubstr("quote"));
}

TEST(AiterTable, LineEndsMarkAndBlankLinesDoNotMatter) {
  const std::string line = row_of(a4w4_header, gemm_cells);
  const AiterRows read =
      read_aiter_table(fmt::format("\xEF\xBB\xBF{}\r\n{}\r\n\r\n{}", a4w4_header, line, line), "x.csv");
  ASSERT_EQ(read.rows.size(), 2);
  EXPECT_EQ(read.rows[0].header, a4w4_header);
  EXPECT_EQ(read.rows[0].line, line);
  EXPECT_EQ(read.rows[1].line, line);
  EXPECT_THAT(read.unread, testing::IsEmpty());
}

TEST(AiterTable, OurOwnWinnersAreNotPublishedTimes) {
  const AiterRows read =
      read_one(a4w4_header, row_of(a4w4_header, gemm_cells, {{"kernelName", "wavetune:bm=64,bn=128"}}));
  EXPECT_THAT(read.rows, testing::IsEmpty());
  EXPECT_THAT(read.unread, testing::IsEmpty());
  EXPECT_EQ(read.own, 1);
}

TEST(AiterTable, EveryRowOfTheRealTablesIsRead) {
  const std::filesystem::path folder = WAVETUNE_SOURCE_DIR "/tests/db/data/aiter";
  std::map<std::string, int> dtypes;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".csv") continue;
    ++files;
    const AiterRows read = read_aiter_table(read_file(entry.path()), entry.path().string());
    EXPECT_THAT(read.unread, testing::IsEmpty()) << entry.path();
    for (const PublishedTime& row : read.rows) ++dtypes[row.problem.op + '/' + row.problem.dtype];
  }
  EXPECT_EQ(files, 10);
  const std::map<std::string, int> expected = {{"fused_moe/mxfp4", 4}, {"fused_moe/mxfp8", 3}, {"gemm/bf16", 3},
                                               {"gemm/bf16_f32", 3},   {"gemm/fp8_block", 9},  {"gemm/fp8_token", 6},
                                               {"gemm/mxfp4", 3}};
  EXPECT_EQ(dtypes, expected);
}

TEST(AiterFormats, OurMoeFormatsComeBack) {
  for (const char* dtype : {"bf16", "fp8_block", "fp8_token", "mxfp4", "bf16_mxfp4"}) {
    const auto columns = moe_columns(dtype);
    ASSERT_TRUE(columns) << dtype;
    EXPECT_EQ(dtype_of_moe(*columns), dtype);
  }
  // Activations with a scale for each row, which AITER has not.
  EXPECT_FALSE(moe_columns("fp8_mxfp4"));
  EXPECT_FALSE(moe_columns("f32"));
}

}  // namespace
}  // namespace wavetune::db
