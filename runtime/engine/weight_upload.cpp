#include "runtime/engine/weight_upload.h"

#include <spdlog/spdlog.h>

#include <chrono>

namespace wavetune::engine {

void upload_weights(const hip::Api& api, const model::Program& program, const model::Checkpoint& checkpoint,
                    const RankMemory& memory, const kernels::WeightOrders& orders) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds interval{5};
  constexpr double gigabyte = 1e9;
  hip::check(api, api.hipSetDevice(memory.device()), "hipSetDevice");
  const auto total = static_cast<double>(program.weight_bytes());
  double done = 0;
  Clock::time_point next_line = Clock::now() + interval;
  for (const model::Weight& weight : program.weights) {
    templates::HostTensor tensor = model::load_weight(program, weight, checkpoint);
    if (const auto order = orders.find(weight.buffer); order != orders.end()) {
      tensor = templates::arrange(order->second.spec, order->second.arrangement, tensor);
    }
    hip::check(api,
               api.hipMemcpy(memory.address(weight.buffer), tensor.bytes().data(), tensor.bytes().size(),
                             hipMemcpyHostToDevice),
               "hipMemcpy of " + program.buffers[static_cast<std::size_t>(weight.buffer)].name);
    done += static_cast<double>(tensor.bytes().size());
    if (Clock::now() < next_line) continue;
    spdlog::info("loading weights on device {}: {:.1f} of {:.1f} GB", memory.device(), done / gigabyte,
                 total / gigabyte);
    next_line = Clock::now() + interval;
  }
}

}  // namespace wavetune::engine
