// What a tuning run achieved, shape by shape.
#pragma once

#include <string>
#include <vector>

#include "search/driver/shape_tuner.h"

namespace wavetune::search {

struct SummaryRow {
  std::string op;     ///< "gemm/bf16"
  std::string shape;  ///< "k=2048,m=16,n=4096"
  double best_us = 0;
  double default_us = 0;  ///< 0: the default configuration was not timed
  double roofline_us = 0;
  int trials = 0;
  std::string config;
};

/// Rows of the tasks with a winner, in order of weight.
std::vector<SummaryRow> summary_rows(const TuneContext& context, const std::vector<TuneTask>& tasks);

/// At most `most` rows, then a line with the geometric mean of default / best over all of them.
std::string summary_text(const std::vector<SummaryRow>& rows, std::size_t most);

}  // namespace wavetune::search
