// How long a step of the server takes: the sum of its operators' costs, collectives and launch gaps.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "model/program.h"
#include "search/layout/cost_table.h"
#include "search/layout/served_formats.h"

namespace wavetune::search {

/// What a step has to do.
struct StepWork {
  std::int64_t decoding = 0;         ///< sequences that decode
  std::int64_t prefill_tokens = 0;   ///< of prompts
  std::int64_t prefill_samples = 0;  ///< prompts that end in this step
  double context = 1;                ///< mean over the step's tokens of how many tokens they may attend to
};

struct StepTime {
  double us = 0;
  std::array<double, 3> by_source{};  ///< of `us`, by CostSource
  double collectives_us = 0;          ///< of `us`
  double gaps_us = 0;                 ///< of `us`, in none of the sources

  StepTime& operator+=(const StepTime& other);
};

struct StepClockOptions {
  int draft_tokens = 0;  ///< speculative tokens of each decoding sequence, verified in the step
  double gap_us = 0;     ///< of each launch, where the operators' times do not include it
  /// At which all steps are costed, since the operators were measured there; 0: at their own.
  std::int64_t context = 0;
};

/// The clock of one rank's program; ranks are taken to be equally fast. Steps of the same work are costed once:
/// contexts and prompt tokens are rounded to the nearest 32nd of their power of two.
///
/// Where a published table times the two expert products as one fused kernel, and we have not measured them, that time
/// stands for both, for the quantisation between them and for the weighted sum behind them. Products with float32
/// output (router, head) are looked up as those with bf16 output where only these are published.
///
/// Speculation: a decoding sequence brings 1 + draft_tokens rows to the step, and behind it the MTP layer runs
/// draft_tokens times over the decoding sequences: the last sparse layer's operators in the checkpoint's unquantised
/// format without its indexer (the selection is shared between the drafts), eh_proj, and the head.
class StepClock {
 public:
  StepClock(const model::Program& program, ServedFormats formats, const CostTable& costs, StepClockOptions options);

  const StepTime& time(const StepWork& work);
  /// Keys of the problems that were estimated so far, without m and context.
  const std::set<std::string>& estimated() const { return estimated_; }
  std::int64_t rows_of_a_decoding_sequence() const { return 1 + options_.draft_tokens; }
  /// Launches of a step without drafts.
  std::int64_t launches() const { return static_cast<std::int64_t>(program_.calls.size()) + 1; }

 private:
  using Key = std::array<std::int64_t, 4>;
  StepTime compute(const Key& key);
  void add(StepTime& total, const db::Problem& problem, int count);
  void add_all(StepTime& total, std::map<db::Problem, int> problems);
  void add_drafts(StepTime& total, std::int64_t decoding, std::int64_t context);

  const model::Program& program_;
  ServedFormats formats_;
  const CostTable& costs_;
  StepClockOptions options_;
  std::map<Key, StepTime> known_;
  std::set<std::string> estimated_;
};

}  // namespace wavetune::search
