#include "search/inspect/problem_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/base/error.h"
#include "templates/registry.h"

namespace wavetune::search {
namespace {

using testing::HasSubstr;

struct Words {
  const char* op;
  const char* dtype;
  const char* shape;
  const char* key;
};

TEST(ProblemArguments, NameAProblem) {
  const Words cases[] = {
      {"gemm_bf16", "", "4096x6144x2048", "gemm/bf16/batch=1,k=2048,m=4096,n=6144"},
      {"gemm", "bf16", "1X2x3", "gemm/bf16/batch=1,k=3,m=1,n=2"},
      {"gemm", "", "m=4,n=5,k=6,batch=7", "gemm/bf16/batch=7,k=6,m=4,n=5"},
      {"gemm_bf16_f32", "", "64x64x64", "gemm/bf16_f32/batch=1,k=64,m=64,n=64"},
      {"gemm_f32", "f32", "64x64x64", "gemm/f32/batch=1,k=64,m=64,n=64"},
      // "grouped_gemm" is an operator of its own, and "topk_select" has one format only.
      {"rmsnorm_bf16", "", "m=64,n=6144,residual=1", "rmsnorm/bf16/m=64,n=6144,residual=1"},
      {"router", "", "m=16,experts=256,topk=8,shared=0", "router/f32/experts=256,m=16,shared=0,topk=8"},
  };
  for (const Words& words : cases) {
    EXPECT_EQ(parse_problem(parse_operator(words.op, words.dtype), words.shape).key(), words.key) << words.op;
  }
  EXPECT_EQ(parse_operator("grouped_gemm_bf16", "").op->name(), "grouped_gemm");
}

std::string usage_error(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(ProblemArguments, SayWhatIsWrong) {
  const std::pair<Words, const char*> cases[] = {
      {{"gem", "", "1x1x1", ""}, "there is no operator 'gem'"},
      {{"gemms_bf16", "", "1x1x1", ""}, "embedding, gemm"},
      {{"gemm_bf16", "f32", "1x1x1", ""}, "name two number formats"},
      {{"gemm_int3", "", "1x1x1", ""}, "int3"},
      {{"gemm_bf16", "", "4096x6144", ""}, "is not MxNxK"},
      {{"gemm_bf16", "", "4096by6144", ""}, "is not of the form name=number"},
      {{"gemm_bf16", "", "m=1,n=1", ""}, "needs the dimension 'k'"},
      {{"gemm_bf16", "", "m=1,n=1,k=0", ""}, "out of range"},
      {{"rmsnorm_bf16", "", "64x6144", ""}, "name the dimensions of rmsnorm"},
      {{"rmsnorm_bf16", "", "m=64,n=6144,residual=1,q=2", ""}, "has no dimension 'q'"},
  };
  for (const auto& [words, part] : cases) {
    const std::string text =
        usage_error([&] { (void)parse_problem(parse_operator(words.op, words.dtype), words.shape); });
    EXPECT_THAT(text, HasSubstr(part)) << words.op << " " << words.shape;
  }
}

TEST(ConfigArgument, ReplacesValuesAndNamesWhatIsWrong) {
  templates::Space space;
  space.add("bm", {32, 64, 128}).add("bn", {32, 64});
  space.require("the tile is not too large", [](const db::Config& c) { return c.at("bm") * c.at("bn") <= 4096; });
  const db::Config base = {{"bm", 32}, {"bn", 64}};
  EXPECT_EQ(db::to_text(parse_config("", base, space)), "bm=32,bn=64");
  EXPECT_EQ(db::to_text(parse_config("bm=64", base, space)), "bm=64,bn=64");
  EXPECT_EQ(db::to_text(parse_config("bm=128,bn=32", base, space)), "bm=128,bn=32");
  const std::pair<const char*, const char*> cases[] = {
      {"bk=3", "there is no parameter 'bk' here; it has: bm, bn"},
      {"bm=48", "bm=48 is not in the space; it has 32, 64, 128"},
      {"bm=128", "configuration bm=128,bn=64 is not in the space: it breaks 'the tile is not too large'"},
      {"bm:4", "--config 'bm:4' is not of the form"},
  };
  for (const auto& [text, part] : cases) {
    EXPECT_THAT(usage_error([&] { (void)parse_config(text, base, space); }), HasSubstr(part));
  }
}

}  // namespace
}  // namespace wavetune::search
