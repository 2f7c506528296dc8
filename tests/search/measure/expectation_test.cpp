// The right answer on the device: equal to the host's, held to a sample, and what it says of outputs. On the device
// that WAVETUNE_TEST_DEVICE names, else on the CPU, where the same kernels run.
#include "search/measure/expectation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "db/base/error.h"
#include "runtime/jit/target.h"
#include "search/measure/problem_shelf.h"
#include "templates/quick_compare.h"
#include "templates/registry.h"
#include "tests/search/support/checks_code.h"
#include "tests/search/support/scratch.h"

namespace wavetune::measure {
namespace {

using templates::DType;
using templates::HostTensor;

class OnDevice : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new test::Scratch;
    jit::CompileService compiler(scratch_->compile_options());
    const char* const named = std::getenv("WAVETUNE_TEST_DEVICE");
    const std::string device = named != nullptr ? named : "cpu";
    try {
      provider_ = hip::load_provider(hip::parse_device_spec(device));
    } catch (const std::exception& error) {
      if (named == nullptr) throw;
      absent_ = error.what();
      return;
    }
    checks_ = new DeviceChecks(provider_->api(), *test::checks_code(compiler, *provider_, device));
  }
  static void TearDownTestSuite() {
    delete std::exchange(checks_, nullptr);
    provider_.reset();
    delete std::exchange(scratch_, nullptr);
  }
  void SetUp() override {
    if (provider_ == nullptr) GTEST_SKIP() << absent_;
    ASSERT_NE(checks_, nullptr);
  }

  /// As prepare_problem() makes it for the device, however small; `whole` is the host's answer.
  static std::shared_ptr<PreparedProblem> sampled(const std::string& key, std::vector<HostTensor>& whole) {
    const db::Problem problem = db::problem_from_key(key);
    auto prepared = std::make_shared<PreparedProblem>(prepare_problem(templates::get_operator(problem.op), problem, 1));
    whole = reference_on_host(*prepared);
    prepared->expected.clear();
    prepared->sample = prepared->op->reference_sample(problem, prepared->inputs);
    return prepared;
  }
  static std::unique_ptr<Expectation> expectation_of(std::shared_ptr<const PreparedProblem> prepared) {
    return Expectation::of(provider_->api(), *checks_, std::move(prepared));
  }

  static inline test::Scratch* scratch_ = nullptr;
  static inline std::shared_ptr<const hip::Provider> provider_;
  static inline DeviceChecks* checks_ = nullptr;
  static inline std::string absent_;  ///< why there is no such device
};

class DeviceReference : public OnDevice, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Formats, DeviceReference,
                         testing::Values("gemm/f32/batch=2,k=75,m=70,n=67", "gemm/bf16/batch=1,k=192,m=65,n=130",
                                         "gemm/bf16/batch=3,k=17,m=5,n=9", "gemm/bf16_f32/batch=1,k=96,m=3,n=64",
                                         "gemm/fp8_block/batch=1,k=272,m=70,n=140",
                                         "gemm/fp8_token/batch=1,k=144,m=17,n=70", "gemm/mxfp4/batch=1,k=96,m=66,n=40",
                                         "gemm/fp8_mxfp4/batch=1,k=160,m=9,n=65",
                                         "gemm/bf16_mxfp4/batch=1,k=96,m=33,n=34",
                                         "grouped_gemm/bf16/experts=5,k=64,m=40,n=66,swiglu=0,topk=2",
                                         "grouped_gemm/bf16/experts=5,k=64,m=40,n=66,swiglu=1,topk=2",
                                         "grouped_gemm/f32/experts=3,k=33,m=70,n=20,swiglu=1,topk=3",
                                         "grouped_gemm/fp8_block/experts=4,k=144,m=20,n=128,swiglu=0,topk=2",
                                         "grouped_gemm/fp8_block/experts=4,k=144,m=20,n=128,swiglu=1,topk=2",
                                         "grouped_gemm/mxfp4/experts=3,k=96,m=20,n=64,swiglu=1,topk=2",
                                         "grouped_gemm/fp8_mxfp4/experts=3,k=96,m=20,n=64,swiglu=0,topk=2",
                                         "grouped_gemm/bf16_mxfp4/experts=3,k=96,m=20,n=64,swiglu=1,topk=1"));

TEST_P(DeviceReference, EqualsTheHosts) {
  std::vector<HostTensor> whole;
  const auto prepared = sampled(GetParam(), whole);
  const auto& sample = *prepared->sample;
  const HostTensor& wanted = whole[sample.operand];
  ASSERT_FALSE(sample.indices.empty());
  EXPECT_TRUE(std::ranges::is_sorted(sample.indices));
  EXPECT_EQ(sample.indices.front(), 0);
  EXPECT_EQ(sample.indices.back(), wanted.count() - 1) << "last row and column";
  for (std::size_t i = 0; i < sample.indices.size(); ++i) {
    HostTensor stored(wanted.dtype(), 1);
    stored.set(0, sample.values[i]);
    EXPECT_NEAR(stored.at(0), wanted.at(sample.indices[i]), 1e-2 * (1e-3 + std::fabs(stored.at(0))))
        << sample.indices[i];
  }
  const auto expectation = expectation_of(prepared);
  ASSERT_NE(expectation, nullptr);
  EXPECT_EQ(expectation->disagreement(), std::nullopt);
  const HostTensor got = expectation->on_host()[sample.operand];
  for (std::int64_t i = 0; i < wanted.count(); ++i) {
    // Sums have the same order; exp() may differ in the last place, and then the rounding to bf16 in one step.
    const bool exact = prepared->problem.dim_or("swiglu", 0) == 0;
    const double step = exact ? 0.0 : std::fabs(wanted.at(i)) * (wanted.dtype() == DType::bf16 ? 0x1p-7 : 0x1p-22);
    ASSERT_NEAR(got.at(i), wanted.at(i), step) << i;
  }
}

TEST_F(OnDevice, ADisagreementIsNamedAndTheHostComputesAll) {
  std::vector<HostTensor> whole;
  const auto prepared = sampled("gemm/bf16/batch=1,k=64,m=20,n=30", whole);
  prepared->sample->values[7] += 1.0;
  const auto expectation = expectation_of(prepared);
  ASSERT_TRUE(expectation->disagreement().has_value());
  EXPECT_NE(expectation->disagreement()->find("c[7] is "), std::string::npos) << *expectation->disagreement();
  expectation->compute_on_host();
  EXPECT_EQ(expectation->disagreement(), std::nullopt);
  EXPECT_TRUE(std::ranges::equal(expectation->on_host()[2].bytes(), whole[2].bytes()));
}

TEST_F(OnDevice, OneWrongOrUnwrittenElementIsSeen) {
  std::vector<HostTensor> whole;
  for (const char* key : {"gemm/bf16/batch=1,k=64,m=301,n=70", "gemm/f32/batch=1,k=64,m=301,n=70"}) {
    const auto prepared = sampled(key, whole);
    const auto expectation = expectation_of(prepared);
    OperandPool pool(*provider_, *prepared, PoolOptions{0, true, 0, checks_});
    pool.arrange_for(prepared->op->default_config(prepared->problem, provider_->devices().front().limits));
    EXPECT_EQ(expectation->worst(pool), std::numeric_limits<double>::infinity()) << "nothing is written";
    const auto write = [&](const HostTensor& c) {
      const auto bytes = c.bytes();
      hip::check(provider_->api(),
                 provider_->api().hipMemcpy(pool.views(0)[2].data, bytes.data(), bytes.size(), hipMemcpyHostToDevice),
                 "hipMemcpy");
    };
    const HostTensor right = whole[2];
    for (const std::int64_t at : {std::int64_t{0}, std::int64_t{12345}, right.count() - 1}) {
      write(right);
      EXPECT_EQ(expectation->worst(pool), 0) << key;
      HostTensor wrong = right;
      wrong.set(at, right.at(at) + 0.5);
      write(wrong);
      const auto limit = prepared->op->tolerance(prepared->problem);
      EXPECT_NEAR(expectation->worst(pool), *templates::quick_worst(wrong, right, limit),
                  1e-6 * *templates::quick_worst(wrong, right, limit));
      EXPECT_GT(expectation->worst(pool), 1) << at;
      wrong.set(at, std::nan(""));
      write(wrong);
      EXPECT_EQ(expectation->worst(pool), std::numeric_limits<double>::infinity()) << at;
    }
  }
}

TEST_F(OnDevice, WhatTheHostHasComputedIsPutThereAndOtherComparisonsAreLeftToIt) {
  const auto prepared_of = [](const char* key) {
    const db::Problem problem = db::problem_from_key(key);
    return std::make_shared<const PreparedProblem>(prepare_problem(templates::get_operator(problem.op), problem, 1));
  };
  const auto norm = prepared_of("rmsnorm/bf16/m=3,n=128,residual=1");
  const auto expectation = expectation_of(norm);
  ASSERT_NE(expectation, nullptr);
  const std::vector<HostTensor> there = expectation->on_host();
  for (std::size_t i = 0; i < norm->specs.size(); ++i) {
    if (norm->specs[i].role == templates::Role::input) continue;
    EXPECT_TRUE(std::ranges::equal(there[i].bytes(), norm->expected[i].bytes())) << norm->specs[i].name;
  }
  EXPECT_EQ(expectation_of(prepared_of("moe_sort/i32/experts=8,m=4,topk=2")), nullptr) << "integers";
}

TEST_F(OnDevice, TheShelfKeepsPoolsOfSeveralProblems) {
  ProblemShelf shelf(*provider_, PoolOptions{0, true, 0, checks_});
  std::vector<std::shared_ptr<const PreparedProblem>> problems;
  std::vector<const OperandPool*> pools;
  for (const char* key : {"gemm/f32/batch=1,k=8,m=4,n=8", "gemm/f32/batch=1,k=8,m=5,n=8"}) {
    const db::Problem problem = db::problem_from_key(key);
    problems.push_back(
        std::make_shared<const PreparedProblem>(prepare_problem(templates::get_operator("gemm"), problem, 1)));
  }
  for (const int at : {0, 1, 0, 1}) {
    const auto& prepared = problems[static_cast<std::size_t>(at)];
    shelf.select(prepared);
    EXPECT_EQ(shelf.problem(), prepared.get());
    EXPECT_NE(shelf.expectation(), nullptr);
    const db::Config config = prepared->op->default_config(prepared->problem, provider_->devices().front().limits);
    pools.push_back(&shelf.pool_for(std::span(&config, 1)));
    EXPECT_EQ(&pools.back()->prepared(), prepared.get());
  }
  EXPECT_NE(pools[0], pools[1]);
  EXPECT_EQ(pools[0], pools[2]);
  EXPECT_EQ(pools[1], pools[3]);
}

class ChecksFor : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Gpus, ChecksFor, testing::Values("gfx950", "gfx942", "sm_90a"));

TEST_P(ChecksFor, TheGpuCompile) {
  std::optional<jit::CompileTarget> target;
  try {
    target = jit::compile_target_for_arch(GetParam());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::not_found) throw;
    GTEST_SKIP() << error.what();  // no such compiler here
  }
  const test::Scratch scratch;
  jit::CompileService compiler(scratch.compile_options());
  const auto compiled = compiler.compile({target->device, target->prelude + device_checks_source(), target->options});
  EXPECT_EQ(compiled.outcome, db::Outcome::ok) << compiled.log;
  EXPECT_EQ(compiled.resources.scratch_bytes.value_or(0), 0);
}

}  // namespace
}  // namespace wavetune::measure
