#include "runtime/engine/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "db/base/error.h"
#include "runtime/engine/random.h"
#include "runtime/engine/step_input.h"

namespace wavetune::engine {
namespace {

std::unique_ptr<Sequence> make_sequence(RequestId id, std::int64_t prompt) {
  auto sequence = std::make_unique<Sequence>();
  sequence->id = id;
  for (std::int64_t i = 0; i < prompt; ++i) sequence->tokens.push_back(static_cast<std::int32_t>(100 * id + i));
  sequence->prompt_tokens = prompt;
  return sequence;
}

struct Taken {
  RequestId id;
  std::int64_t begin, count;
  bool samples;
  bool operator==(const Taken&) const = default;
};

std::vector<Taken> taken(const std::vector<BatchEntry>& batch) {
  std::vector<Taken> result;
  for (const BatchEntry& entry : batch) result.push_back({entry.sequence->id, entry.begin, entry.count, entry.samples});
  return result;
}

/// Runs a batch as an engine would: one new token for each entry that samples.
void run(Scheduler& scheduler, const std::vector<BatchEntry>& batch) {
  scheduler.complete(batch);
  for (const BatchEntry& entry : batch) {
    if (entry.samples) entry.sequence->tokens.push_back(static_cast<std::int32_t>(entry.sequence->length()));
  }
}

TEST(PagePool, TakesEachPageOnceAndReusesReturnedOnes) {
  PagePool pool(3);
  std::set<std::int32_t> pages;
  for (int i = 0; i < 3; ++i) pages.insert(*pool.take());
  EXPECT_EQ(pages, (std::set<std::int32_t>{0, 1, 2}));
  EXPECT_FALSE(pool.take().has_value());
  const std::int32_t returned[] = {1};
  pool.give_back(returned);
  EXPECT_EQ(pool.free(), 1);
  EXPECT_THROW(pool.give_back(returned), Error);
  EXPECT_EQ(pool.take(), 1);
}

TEST(Scheduler, CutsPromptsIntoChunksOfTheBudget) {
  Scheduler scheduler({.max_step_tokens = 7, .max_sequences = 4, .page_size = 4, .pages = 16});
  scheduler.add(make_sequence(1, 17));
  for (const Taken& expected :
       {Taken{1, 0, 7, false}, Taken{1, 7, 7, false}, Taken{1, 14, 3, true}, Taken{1, 17, 1, true}}) {
    const auto batch = scheduler.next_batch();
    EXPECT_THAT(taken(batch), testing::ElementsAre(expected));
    run(scheduler, batch);
  }
}

TEST(Scheduler, DecodesBeforePromptsAndSharesTheRestOfTheBudget) {
  Scheduler scheduler({.max_step_tokens = 8, .max_sequences = 4, .page_size = 4, .pages = 32});
  scheduler.add(make_sequence(1, 3));
  run(scheduler, scheduler.next_batch());
  scheduler.add(make_sequence(2, 10));
  scheduler.add(make_sequence(3, 2));
  auto batch = scheduler.next_batch();
  EXPECT_THAT(taken(batch), testing::ElementsAre(Taken{1, 3, 1, true}, Taken{2, 0, 7, false}));
  run(scheduler, batch);
  batch = scheduler.next_batch();
  EXPECT_THAT(taken(batch), testing::ElementsAre(Taken{1, 4, 1, true}, Taken{2, 7, 3, true}, Taken{3, 0, 2, true}));
}

TEST(Scheduler, AdmitsNoMoreThanRowsOrPagesAllowInOrder) {
  Scheduler rows({.max_step_tokens = 64, .max_sequences = 2, .page_size = 4, .pages = 32});
  for (RequestId id = 1; id <= 3; ++id) rows.add(make_sequence(id, 2));
  EXPECT_EQ(rows.next_batch().size(), 2u);
  EXPECT_EQ(rows.waiting(), 1);

  // The second does not fit; the third would, but must not overtake it.
  Scheduler pages({.max_step_tokens = 64, .max_sequences = 4, .page_size = 4, .pages = 4});
  pages.add(make_sequence(1, 8));
  pages.add(make_sequence(2, 12));
  pages.add(make_sequence(3, 2));
  EXPECT_THAT(taken(pages.next_batch()), testing::ElementsAre(Taken{1, 0, 8, true}));
  EXPECT_EQ(pages.waiting(), 2);
}

TEST(Scheduler, PreemptsTheNewestAndComputesItAgain) {
  Scheduler scheduler({.max_step_tokens = 64, .max_sequences = 4, .page_size = 4, .pages = 4});
  scheduler.add(make_sequence(1, 7));
  scheduler.add(make_sequence(2, 7));
  run(scheduler, scheduler.next_batch());     // 8 tokens each, 2 pages each: the cache is full
  run(scheduler, scheduler.next_batch());     // position 7 of both
  const auto batch = scheduler.next_batch();  // position 8 of the first needs a third page
  EXPECT_THAT(taken(batch), testing::ElementsAre(Taken{1, 8, 1, true}));
  EXPECT_EQ(scheduler.preemptions(), 1);
  EXPECT_EQ(scheduler.waiting(), 1);
  run(scheduler, batch);
  const std::unique_ptr<Sequence> first = scheduler.remove(1);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->generated(), 3);
  EXPECT_THAT(taken(scheduler.next_batch()), testing::ElementsAre(Taken{2, 0, 9, true}));
}

TEST(Scheduler, RefusesWhatCanNeverFit) {
  Scheduler scheduler({.max_step_tokens = 64, .max_sequences = 4, .page_size = 4, .pages = 4});
  EXPECT_THROW(scheduler.add(make_sequence(1, 17)), Error);
  scheduler.add(make_sequence(2, 16));
  EXPECT_EQ(scheduler.next_batch().size(), 1u);
}

TEST(Scheduler, RemoveFreesPagesAndRows) {
  Scheduler scheduler({.max_step_tokens = 64, .max_sequences = 1, .page_size = 4, .pages = 8});
  scheduler.add(make_sequence(1, 8));
  scheduler.add(make_sequence(2, 8));
  run(scheduler, scheduler.next_batch());
  EXPECT_NE(scheduler.remove(2), nullptr);
  EXPECT_NE(scheduler.remove(1), nullptr);
  EXPECT_EQ(scheduler.remove(1), nullptr);
  EXPECT_EQ(scheduler.pages().used(), 0);
  EXPECT_TRUE(scheduler.next_batch().empty());
  scheduler.add(make_sequence(3, 8));
  EXPECT_EQ(scheduler.next_batch().front().sequence->row, 0);
}

/// Many sequences through a cache that is too small: every one ends, with the tokens in order, and no page is lost or
/// shared.
TEST(Scheduler, ManySequencesThroughASmallCacheAllFinish) {
  for (std::int64_t budget : {3, 8, 64}) {
    Scheduler scheduler({.max_step_tokens = budget, .max_sequences = 5, .page_size = 4, .pages = 9});
    constexpr std::int64_t new_tokens = 12;
    for (RequestId id = 1; id <= 20; ++id)
      scheduler.add(make_sequence(id, static_cast<std::int64_t>(1 + mix64(id) % 20)));
    int finished = 0, steps = 0;
    while (finished < 20) {
      ASSERT_LT(++steps, 5000);
      const auto batch = scheduler.next_batch();
      ASSERT_FALSE(batch.empty());
      std::set<std::int32_t> pages, rows;
      std::int64_t tokens = 0;
      for (const BatchEntry& entry : batch) {
        tokens += entry.count;
        ASSERT_TRUE(rows.insert(entry.sequence->row).second);
        ASSERT_GE(static_cast<std::int64_t>(entry.sequence->pages.size()) * 4, entry.begin + entry.count);
        for (std::int32_t page : entry.sequence->pages) ASSERT_TRUE(pages.insert(page).second);
      }
      ASSERT_LE(tokens, budget);
      run(scheduler, batch);
      for (const BatchEntry& entry : batch) {
        if (entry.sequence->generated() < new_tokens) continue;
        const std::unique_ptr<Sequence> done = scheduler.remove(entry.sequence->id);
        for (std::int64_t i = done->prompt_tokens; i < done->length(); ++i) ASSERT_EQ(done->tokens[i], i);
        ++finished;
      }
    }
    EXPECT_EQ(scheduler.pages().used(), 0);
  }
}

TEST(StepInput, FlattensTheBatchThroughTheBlockTable) {
  Sequence a = *make_sequence(1, 6), b = *make_sequence(2, 3);
  a.pages = {5, 2};
  a.row = 1;
  a.params = {.temperature = 0.5f, .top_p = 0.9f, .seed = 7};
  b.pages = {3};
  b.row = 0;
  const BatchEntry batch[] = {{&a, 3, 3, true}, {&b, 0, 2, false}};
  const StepInput step = build_step(batch, 4);
  EXPECT_THAT(step.token_ids, testing::ElementsAre(103, 104, 105, 200, 201));
  EXPECT_THAT(step.positions, testing::ElementsAre(3, 4, 5, 0, 1));
  EXPECT_THAT(step.slots, testing::ElementsAre(23, 8, 9, 12, 13));
  EXPECT_THAT(step.sequence, testing::ElementsAre(1, 1, 1, 0, 0));
  EXPECT_THAT(step.sample_rows, testing::ElementsAre(2));
  EXPECT_THAT(step.uniform, testing::ElementsAre(uniform_at(7, 6)));
  EXPECT_EQ(step.context, 6);
}

TEST(Random, UniformIsInRangeSpreadAndAFunctionOfSeedAndPosition) {
  std::map<int, int> histogram;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (std::uint64_t position = 0; position < 500; ++position) {
      const float value = uniform_at(seed, position);
      ASSERT_GE(value, 0.0f);
      ASSERT_LT(value, 1.0f);
      ++histogram[static_cast<int>(value * 10)];
    }
  }
  for (const auto& [bucket, count] : histogram) EXPECT_NEAR(count, 1000, 150) << bucket;
  EXPECT_EQ(uniform_at(3, 9), uniform_at(3, 9));
  EXPECT_NE(uniform_at(3, 9), uniform_at(4, 9));
  EXPECT_NE(uniform_at(3, 9), uniform_at(3, 10));
}

}  // namespace
}  // namespace wavetune::engine
