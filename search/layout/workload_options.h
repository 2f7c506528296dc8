// The command-line options that say what a node is asked to do; `tune` and `layout` share them.
#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

#include "db/layout.h"
#include "model/config.h"
#include "runtime/hip/provider.h"
#include "search/layout/workload.h"

namespace wavetune::search {

/// --concurrency, --decode-batches, --prefill-tokens, --context, --max-context, --tp, --objective, --node-devices.
void add_workload_options(boost::program_options::options_description& options);

struct WorkloadChoice {
  Workload workload;
  std::vector<int> tp;  ///< empty: all
  db::Objective objective = db::Objective::throughput;
  int node_devices = 0;  ///< 0: as many as are shown
  bool given = false;    ///< any of the options other than --objective was given
};

/// Devices that layouts are made for.
inline int devices_of(const WorkloadChoice& choice, const hip::Provider& provider) {
  return choice.node_devices > 0 ? choice.node_devices : static_cast<int>(provider.devices().size());
}

/// --tp: empty when it is not given. Throws Error usage.
std::vector<int> read_tp(const boost::program_options::variables_map& values);
/// --objective. Throws Error usage.
db::Objective read_objective(const boost::program_options::variables_map& values);

/// Fills in what was not given from the model and the kind of device. Throws Error usage naming the option.
WorkloadChoice read_workload_options(const boost::program_options::variables_map& values,
                                     const model::ModelConfig& config, hip::ProviderKind kind);

/// "1,2,4". Throws Error usage naming `option`.
std::vector<int> parse_int_list(const std::string& text, const std::string& option);
/// "gemm,moe_sort": the words.
std::vector<std::string> split_list(const std::string& text);

}  // namespace wavetune::search
