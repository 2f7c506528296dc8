#include "search/driver/weight_formats.h"

#include <gtest/gtest.h>

#include "db/base/error.h"
#include "templates/registry.h"

namespace wavetune::search {
namespace {

TuneTask task(const char* op, const char* dtype, db::NamedInts dims, double weight = 1) {
  return {&templates::get_operator(op), {op, dtype, std::move(dims)}, weight};
}

std::vector<TuneTask> model() {
  return {
      task("gemm", "bf16", {{"batch", 1}, {"m", 16}, {"n", 256}, {"k", 1024}}),
      task("gemm", "bf16", {{"batch", 8}, {"m", 16}, {"n", 512}, {"k", 192}}),
      task("gemm", "bf16_f32", {{"batch", 1}, {"m", 16}, {"n", 256}, {"k", 1024}}),
      task("grouped_gemm", "bf16", {{"m", 16}, {"topk", 9}, {"experts", 257}, {"n", 256}, {"k", 1024}, {"swiglu", 1}}),
      task("grouped_gemm", "bf16", {{"m", 16}, {"topk", 9}, {"experts", 257}, {"n", 1024}, {"k", 256}, {"swiglu", 0}}),
      task("rmsnorm", "bf16", {{"m", 16}, {"n", 1024}, {"residual", 1}})};
}

std::map<std::string, int> count(const std::vector<TuneTask>& tasks) {
  std::map<std::string, int> by_family;
  for (const TuneTask& each : tasks) ++by_family[each.problem.op + "_" + each.problem.dtype];
  return by_family;
}

TEST(WeightFormats, NothingChangesWithoutAny) { EXPECT_EQ(count(in_formats(model(), {})), count(model())); }

TEST(WeightFormats, ProductsChangeAndQuantisationIsAdded) {
  const std::vector<TuneTask> tasks = in_formats(model(), {{"fp8_token"}, {"mxfp4"}});
  EXPECT_EQ(count(tasks), (std::map<std::string, int>{{"gemm_bf16", 1},
                                                      {"gemm_bf16_f32", 1},
                                                      {"gemm_fp8_token", 1},
                                                      {"grouped_gemm_mxfp4", 2},
                                                      {"quantize_fp8_token", 1},
                                                      {"quantize_mxfp4", 2},
                                                      {"rmsnorm_bf16", 1}}));
  for (const TuneTask& each : tasks) {
    EXPECT_NO_THROW(each.op->check(each.problem)) << each.problem.key();
    EXPECT_GT(each.weight, 0);
    if (each.problem.op == "quantize" && each.problem.dim("k") == 256) {
      EXPECT_EQ(each.problem.dim("m"), 16 * 9) << "the down projection reads a row for each pair";
    }
  }
}

TEST(WeightFormats, SeveralFormatsAreTunedSideBySide) {
  const auto counts = count(in_formats(model(), {{"", "fp8_token", "bf16_mxfp4"}, {""}}));
  const auto plain = count(model());
  EXPECT_EQ(counts.at("gemm_fp8_token"), counts.at("gemm_bf16_mxfp4"));
  EXPECT_EQ(counts.at("gemm_bf16"), plain.at("gemm_bf16")) << "bf16 is one of them";
}

TEST(WeightFormats, Bf16ActivationsAreNotQuantised) {
  EXPECT_EQ(count(in_formats(model(), {{""}, {"bf16_mxfp4"}})).count("quantize_mxfp4"), 0u);
}

}  // namespace
}  // namespace wavetune::search
