#include "runtime/kernels/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace wavetune::kernels {
namespace {

TEST(ContextBuckets, DoubleFromAPageToTheLimitRoundedToPages) {
  EXPECT_THAT(context_buckets(16, 100), testing::ElementsAre(16, 32, 64, 112));
  EXPECT_THAT(context_buckets(16, 128), testing::ElementsAre(16, 32, 64, 128));
  EXPECT_THAT(context_buckets(16, 5), testing::ElementsAre(16));
}

model::Program tiny_program() {
  model::Program program;
  program.config.vocab_size = 32;
  const model::Extent tokens{1, model::Symbol::tokens}, samples{1, model::Symbol::samples};
  program.calls.push_back({"gemm", "a", "f32", {{"batch", {}}, {"k", {8}}, {"m", tokens}, {"n", {8}}}, {}, {}});
  program.calls.push_back({"gemm", "head", "f32", {{"batch", {}}, {"k", {8}}, {"m", samples}, {"n", {32}}}, {}, {}});
  return program;
}

/// Every step's kernels are among those that are looked up (and compiled) at start.
TEST(ServingShapes, CoverEveryStep) {
  const model::Program program = tiny_program();
  for (const auto& [max_tokens, max_samples] :
       {std::pair{24, 5}, std::pair{16, 16}, std::pair{1, 1}, std::pair{7, 3}}) {
    const auto shapes = serving_shapes(max_tokens, max_samples, 16, 64, 1024);
    const auto problems = serving_problems(program, shapes);
    const std::set<db::Problem> known(problems.begin(), problems.end());
    for (std::int64_t tokens = 1; tokens <= max_tokens; ++tokens) {
      for (std::int64_t samples = 0; samples <= std::min<std::int64_t>(tokens, max_samples); ++samples) {
        const model::StepShape lookup = lookup_shape({tokens, samples, 16, 1024}, max_tokens, max_samples);
        EXPECT_GE(lookup.tokens, tokens);
        EXPECT_LE(lookup.tokens, max_tokens);
        EXPECT_TRUE(known.contains(program.calls[0].problem(lookup))) << tokens;
        EXPECT_TRUE(known.contains(program.calls[1].problem(lookup))) << samples;
        EXPECT_TRUE(known.contains(sampler_problem(program, lookup.samples))) << samples;
      }
    }
  }
}

TEST(Coverage, CountsAndListsWhatIsUntuned) {
  const db::Environment environment;
  const WinnerIndex nothing(nullptr, environment);
  const auto problems = serving_problems(tiny_program(), serving_shapes(2, 2, 16, 16, 16));
  const Coverage coverage = coverage_of(nothing, problems, {});
  EXPECT_EQ(coverage.fallback, 6);  // two GEMMs and the sampler, at m 1 and 2
  EXPECT_EQ(coverage.total(), 6);
  EXPECT_EQ(coverage.untuned.size(), 6u);
  EXPECT_THAT(coverage.untuned, testing::Contains("gemm/f32/batch=1,k=8,m=2,n=32"));
  EXPECT_EQ(coverage.summary(), "6 operator shapes: 0 tuned exactly, 0 by nearest shape, 6 untuned");
}

}  // namespace
}  // namespace wavetune::kernels
