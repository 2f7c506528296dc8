// One tuned configuration, timed as it is served: many runs in one graph, over copies of the operands that are together
// larger than the caches, so that weights come from memory.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "operand_data.h"
#include "runtime/hip/handles.h"
#include "runtime/hip/provider.h"
#include "search/measure/loaded_launches.h"

namespace wavetune::gpu_bench {

class RotatedRuns {
 public:
  /// On the provider's first device. Throws Error device.
  RotatedRuns(const hip::Provider& provider, const templates::Operator& op, const db::Problem& problem,
              const db::Config& config, std::span<const std::byte> code, const OperandData& data);
  /// Median over `replays` replays of the time of one run, in microseconds.
  double measure(int replays);
  int sets() const { return static_cast<int>(launches_.size()); }

 private:
  void make_sets(int count, const templates::Operator& op, const db::Problem& problem, const db::Config& config,
                 const OperandData& data);
  void capture(int repeats);
  double replay_us();

  const hip::Api& api_;
  hip::Module module_;
  hip::Stream stream_;
  hip::Event begin_, end_;
  std::vector<templates::OperandSpec> specs_;
  std::vector<hip::DeviceBuffer> buffers_;         ///< one an operand and one for the workspace, of all sets
  std::vector<measure::LoadedLaunches> launches_;  ///< one a set
  hip::GraphExec graph_;
  int runs_ = 0;  ///< in the graph
};

}  // namespace wavetune::gpu_bench
