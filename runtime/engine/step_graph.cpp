#include "runtime/engine/step_graph.h"

#include <vector>

namespace wavetune::engine {
namespace {

void use(const hip::Api& api, const comm::Rank& rank) {
  hip::check(api, api.hipSetDevice(rank.device), "hipSetDevice");
}

/// What `from` is given from now on, `to` is given after it.
void order(const hip::Api& api, const comm::Rank& from, const comm::Rank& to, const hip::Event& event) {
  use(api, from);
  hip::check(api, api.hipEventRecord(event.get(), from.stream), "hipEventRecord while capturing a step");
  use(api, to);
  hip::check(api, api.hipStreamWaitEvent(to.stream, event.get(), 0), "hipStreamWaitEvent while capturing a step");
}

std::vector<hip::Event> make_events(const hip::Api& api, std::span<const comm::Rank> ranks) {
  std::vector<hip::Event> events;
  for (const comm::Rank& rank : ranks) {
    use(api, rank);
    events.push_back(hip::make_event(api, hipEventDisableTiming));
  }
  return events;
}

}  // namespace

StepGraph::StepGraph(const hip::Api& api, std::span<const comm::Rank> ranks, const std::function<void()>& enqueue)
    : api_(&api), first_(ranks.front()) {
  const std::vector<hip::Event> events = make_events(api, ranks);
  use(api, first_);
  // Other replicas' threads go on allocating and waiting meanwhile.
  hip::check(api, api.hipStreamBeginCapture(first_.stream, hipStreamCaptureModeThreadLocal), "hipStreamBeginCapture");
  try {
    // The other streams take part from the moment on that they wait for the first, until it waits for them.
    for (std::size_t rank = 1; rank < ranks.size(); ++rank) order(api, first_, ranks[rank], events[0]);
    enqueue();
    for (std::size_t rank = 1; rank < ranks.size(); ++rank) order(api, ranks[rank], first_, events[rank]);
    use(api, first_);
  } catch (...) {
    hipGraph_t captured = nullptr;
    (void)api.hipSetDevice(first_.device);
    (void)api.hipStreamEndCapture(first_.stream, &captured);
    if (captured != nullptr) (void)api.hipGraphDestroy(captured);
    (void)api.hipGetLastError();
    throw;
  }
  executable_ = hip::end_capture(api, first_.stream);
}

void StepGraph::launch() const {
  use(*api_, first_);
  hip::check(*api_, api_->hipGraphLaunch(executable_.get(), first_.stream), "hipGraphLaunch of a step");
}

}  // namespace wavetune::engine
