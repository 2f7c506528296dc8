// What `serve` would run for a model with a database's kernels, without weights and without a step.
#pragma once

#include <boost/program_options.hpp>

#include "db/database.h"
#include "runtime/engine/replica_sizes.h"

namespace wavetune::search {

struct ServedModel {
  model::ModelConfig config;
  engine::LayoutInfo layout;
  std::optional<db::Layout> stored;  ///< the database's newest for this model and number of devices
  engine::ReplicaSizes sizes;
};

/// --layout, --max-context, --max-sequences, --max-step-tokens: with `serve`'s meanings and defaults.
void add_served_options(boost::program_options::options_description& options);

/// `model` is a folder or a built-in name. Throws Error usage (an option, a degree that does not divide the model, more
/// devices than the provider shows), not_found (the model; --layout stored, but none is).
ServedModel served_model(const boost::program_options::variables_map& values, const std::string& model,
                         const db::Database& database, const db::Environment& environment,
                         const hip::Provider& provider);

/// "4x2": TP 4 x DP 2. Throws Error usage.
std::pair<int, int> parse_degrees(const std::string& text);

}  // namespace wavetune::search
