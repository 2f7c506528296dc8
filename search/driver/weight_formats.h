// Tuning for checkpoints whose linear layers are quantised: the same products in other number formats.
#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

#include "search/driver/task.h"

namespace wavetune::search {

/// Number formats of the linear layers, as dtype texts of the gemm operator; an empty text: as the model says. Several:
/// tasks are made for each of them. Never no text at all.
struct WeightFormats {
  std::vector<std::string> dense{""};    ///< attention projections and dense MLPs
  std::vector<std::string> experts{""};  ///< routed and shared experts
};

void add_weight_format_options(boost::program_options::options_description& options);
/// Throws Error usage for a format that the products do not have, naming those they have.
WeightFormats read_weight_formats(const boost::program_options::variables_map& values);

/// `tasks` with the bf16 products in the formats given, and the quantisation of their activations as tasks of its own.
/// Batched products (the absorbed K and V projections), router and head keep their format, as in the published
/// checkpoints.
std::vector<TuneTask> in_formats(std::vector<TuneTask> tasks, const WeightFormats& formats);

}  // namespace wavetune::search
