#include "search/layout/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/base/error.h"
#include "search/layout/load_sweep.h"

namespace wavetune::search {
namespace {

/// A model of one layer in which a step takes as long as its embedding: 1 us for up to 8 rows, then 1/8 us a row.
class Simulations : public testing::Test {
 protected:
  Simulations() {
    program_.config.num_hidden_layers = 1;
    program_.config.vocab_size = 1;
    model::OpCall call;
    call.op = "embedding";
    call.label = "embedding";
    call.dtype = "f32";
    call.dims = {{"m", {1, model::Symbol::tokens}}, {"n", {64, model::Symbol::one}}};
    program_.calls = {call};
    for (const auto& [m, us] : {std::pair{8, 1.0}, {1024, 128.0}})
      references_.push_back({{"embedding", "f32", {{"m", m}, {"n", 64}}}, us, CostSource::published});
    // The sampler, which follows every program, is made free.
    for (const int samples : {1, 1024}) references_.push_back({kernels_sampler(samples), 1e-9, CostSource::published});
    options_.scheduler = {64, 16, 4, 4096};
  }
  db::Problem kernels_sampler(int samples) const;
  SimulatedRun run(const std::vector<TrafficRequest>& trace) {
    const CostTable costs({}, {1000, {{"f32", 1e5}}}, references_);
    StepClock clock(program_, {}, costs, {options_.speculation.draft_tokens, 0, 0});
    return simulate(trace, clock, options_);
  }

  model::Program program_;
  std::vector<ReferenceTime> references_;
  SimulationOptions options_;
};

db::Problem Simulations::kernels_sampler(int samples) const {
  db::Problem problem = served_problems(program_, {1, samples, 1, 1}, {}).rbegin()->first;
  EXPECT_EQ(problem.op, "sample");
  return problem;
}

TEST_F(Simulations, OneRequestTakesItsChunksAndThenItsTokens) {
  // 150 prompt tokens in chunks of 64, 64 and 22: 8 + 8 + 2.75 us; then 4 more tokens of 1 us each.
  const SimulatedRun result = run({{10, 150, 0, 5}});
  EXPECT_EQ(result.steps, 7);
  EXPECT_NEAR(result.requests[0].arrival, 10, 1e-6);
  EXPECT_NEAR(result.requests[0].first_token, 10 + 18.75, 1e-3);
  EXPECT_NEAR(result.requests[0].finish, 10 + 18.75 + 4, 1e-3);
  EXPECT_EQ(result.requests[0].output, 5);
  EXPECT_NEAR(result.spent.by_source[static_cast<std::size_t>(CostSource::published)], result.spent.us, 1e-9);
}

TEST_F(Simulations, APrefixHitSavesItsPrefill) {
  const SimulatedRun result = run({{0, 150, 128, 1}});
  EXPECT_EQ(result.steps, 1);
  EXPECT_NEAR(result.requests[0].finish, 2.75, 1e-3);
}

TEST_F(Simulations, ReplicasShareTheRequests) {
  const std::vector<TrafficRequest> trace(8, {0, 64, 0, 100});
  options_.replicas = 1;
  const double one = run(trace).requests.back().finish;
  options_.replicas = 4;
  const SimulatedRun four = run(trace);
  EXPECT_LT(four.requests.back().finish, one);
  double tokens = 0;
  for (const auto& [when, count] : four.tokens) tokens += count;
  EXPECT_EQ(tokens, 800);
}

TEST_F(Simulations, ClosedLoopsKeepAsManyUnderWayAsThereAreClients) {
  options_.clients = 2;
  const SimulatedRun result = run(std::vector<TrafficRequest>(10, {0, 8, 0, 3}));
  for (const ServedRequest& request : result.requests) {
    const auto under_way = std::ranges::count_if(result.requests, [&](const ServedRequest& other) {
      return other.arrival <= request.arrival && other.finish > request.arrival;
    });
    EXPECT_LE(under_way, 2);
    EXPECT_GT(request.finish, request.first_token);
  }
}

TEST_F(Simulations, AcceptedDraftsComeAsSeveralTokensOfOneStep) {
  options_.speculation = {2, {1, 1}};  // always accepted: three tokens a step of three rows
  EXPECT_EQ(options_.speculation.mean_length(), 3);
  const SimulatedRun result = run({{0, 8, 0, 10}});
  EXPECT_EQ(result.steps, 4) << "the prompt's, then nine tokens in three";
  EXPECT_EQ(result.requests[0].output, 10);
}

TEST_F(Simulations, WhatDoesNotFitIntoTheCacheIsAnError) {
  options_.scheduler.pages = 4;
  EXPECT_THROW(run({{0, 100, 0, 1}}), Error);
}

TEST_F(Simulations, AFullCachePreemptsAndEveryRequestIsStillAnswered) {
  options_.scheduler.pages = 20;
  const SimulatedRun result = run(std::vector<TrafficRequest>(6, {0, 20, 0, 40}));
  EXPECT_GT(result.preemptions, 0);
  for (const ServedRequest& request : result.requests) EXPECT_EQ(request.output, 40);
}

TEST_F(Simulations, TheKneeLiesWhereTheServersCapacityIs) {
  const CostTable costs({}, {1000, {{"f32", 1e5}}}, references_);
  StepClock clock(program_, {}, costs, {});
  Traffic traffic = parse_traffic("in=512,out=2");
  SimulatedServer server{&clock, options_, 0.001};
  const Knee knee = find_knee(server, traffic, 16);
  // A request takes its 512 prompt tokens at 8 a microsecond and a token or two: about 15,000 a second.
  EXPECT_GT(knee.at.point.rate, 11'000);
  EXPECT_LT(knee.at.point.rate, 16'000);
  EXPECT_LE(knee.at.point.ttft_p95_s, 0.001);
  EXPECT_GT(run_at_rate(server, traffic, 1.3 * knee.at.point.rate).point.ttft_p95_s, 0.001);
}

}  // namespace
}  // namespace wavetune::search
