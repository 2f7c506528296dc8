#include "search/layout/simulator.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <queue>
#include <random>

namespace wavetune::search {
namespace {

/// One replica: what engine::Replica does between two steps, without threads.
class SimulatedReplica {
 public:
  SimulatedReplica(StepClock& clock, const SimulationOptions& options, SimulatedRun& run, std::uint64_t seed)
      : clock_(clock), options_(options), run_(run), scheduler_(options.scheduler), random_(seed) {}

  std::int64_t outstanding() const { return outstanding_; }
  bool busy() const { return !batch_.empty(); }

  void submit(std::size_t index, const TrafficRequest& request) {
    auto sequence = std::make_unique<engine::Sequence>();
    sequence->id = index;
    sequence->tokens.resize(static_cast<std::size_t>(request.input));
    sequence->prompt_tokens = request.input;
    sequence->params.max_tokens = request.output;
    sequence->computed = request.cached;
    outstanding_ += request.input + request.output;
    scheduler_.add(std::move(sequence));
  }

  /// Starts a step if there is work: when it ends, or nothing.
  std::optional<double> start(double now) {
    batch_ = scheduler_.next_batch();
    if (batch_.empty()) return std::nullopt;
    const StepTime& time = clock_.time(work());
    run_.spent += time;
    ++run_.steps;
    return now + time.us;
  }

  /// The step that was started ends: the requests that are answered by it.
  std::vector<std::size_t> finish(double now) {
    scheduler_.complete(batch_);
    std::vector<std::size_t> answered;
    double tokens = 0;
    for (const engine::BatchEntry& entry : batch_) {
      if (entry.samples) tokens += static_cast<double>(deliver(*entry.sequence, now, answered));
    }
    batch_.clear();
    if (tokens > 0) run_.tokens.push_back({now, tokens});
    return answered;
  }

  std::int64_t preemptions() const { return scheduler_.preemptions(); }

 private:
  static bool decodes(const engine::BatchEntry& entry) { return entry.count == 1 && entry.sequence->generated() > 0; }

  StepWork work() const {
    StepWork work;
    double rows = 0, attended = 0;
    for (const engine::BatchEntry& entry : batch_) {
      const bool decoding = decodes(entry);
      work.decoding += decoding ? 1 : 0;
      work.prefill_tokens += decoding ? 0 : entry.count;
      work.prefill_samples += !decoding && entry.samples ? 1 : 0;
      const auto count = static_cast<double>(decoding ? clock_.rows_of_a_decoding_sequence() : entry.count);
      rows += count;
      attended += count * (static_cast<double>(entry.begin) + (count + 1) / 2);
    }
    work.context = attended / rows;
    return work;
  }

  /// Tokens that a sequence gets at the end of a step.
  std::int64_t accepted() {
    std::int64_t length = 1;
    const double drawn = static_cast<double>(random_() >> 11) * 0x1p-53;
    for (const double probability : options_.speculation.acceptance) length += drawn < probability ? 1 : 0;
    return length;
  }

  std::int64_t deliver(engine::Sequence& sequence, double now, std::vector<std::size_t>& answered) {
    ServedRequest& request = run_.requests[sequence.id];
    const bool first = sequence.generated() == 0;
    if (first) request.first_token = now;
    const std::int64_t left = sequence.params.max_tokens - sequence.generated();
    const std::int64_t length = std::min(first ? 1 : accepted(), left);
    sequence.tokens.resize(sequence.tokens.size() + static_cast<std::size_t>(length));
    sequence.computed = sequence.length() - 1;  // accepted drafts are in the cache
    outstanding_ -= length;
    request.output = sequence.generated();
    if (length == left) {
      request.finish = now;
      outstanding_ -= sequence.prompt_tokens;
      answered.push_back(sequence.id);
      scheduler_.remove(sequence.id);
    }
    return length;
  }

  StepClock& clock_;
  const SimulationOptions& options_;
  SimulatedRun& run_;
  engine::Scheduler scheduler_;
  std::mt19937_64 random_;
  std::vector<engine::BatchEntry> batch_;
  std::int64_t outstanding_ = 0;
};

struct Event {
  double at = 0;
  std::uint64_t order = 0;  ///< of equal times: as scheduled
  int replica = -1;         ///< whose step ends; -1: request `request` arrives
  std::size_t request = 0;
  auto operator<=>(const Event&) const = default;
};

class Simulation {
 public:
  Simulation(const std::vector<TrafficRequest>& trace, StepClock& clock, const SimulationOptions& options)
      : trace_(trace), options_(options) {
    run_.requests.resize(trace.size());
    for (int i = 0; i < options.replicas; ++i) {
      replicas_.emplace_back(clock, options, run_, options.seed + static_cast<std::uint64_t>(i));
    }
    const std::size_t first = options.clients > 0 ? static_cast<std::size_t>(options.clients) : trace.size();
    while (next_ < std::min(first, trace.size())) arrive(options.clients > 0 ? 0 : trace[next_].arrival_us);
  }

  SimulatedRun run() {
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      if (event.replica < 0) {
        submit(event);
        continue;
      }
      const std::vector<std::size_t> answered = replicas_[static_cast<std::size_t>(event.replica)].finish(event.at);
      for (std::size_t i = 0; i < answered.size() && options_.clients > 0 && next_ < trace_.size(); ++i)
        arrive(event.at);
      // Requests that come at this very moment join the next step, as they do in the server's loop.
      while (!events_.empty() && events_.top().at <= event.at && events_.top().replica < 0) {
        const Event arrival = events_.top();
        events_.pop();
        submit(arrival);
      }
      start(event.replica, event.at);
    }
    for (const SimulatedReplica& replica : replicas_) run_.preemptions += replica.preemptions();
    return std::move(run_);
  }

 private:
  void arrive(double at) { events_.push({at, order_++, -1, next_++}); }

  void submit(const Event& event) {
    run_.requests[event.request].arrival = event.at;
    const auto least_loaded = std::ranges::min_element(replicas_, {}, &SimulatedReplica::outstanding);
    least_loaded->submit(event.request, trace_[event.request]);
    if (!least_loaded->busy()) start(static_cast<int>(least_loaded - replicas_.begin()), event.at);
  }

  void start(int replica, double now) {
    SimulatedReplica& one = replicas_[static_cast<std::size_t>(replica)];
    if (one.busy()) return;
    if (const auto end = one.start(now)) events_.push({*end, order_++, replica, 0});
  }

  const std::vector<TrafficRequest>& trace_;
  const SimulationOptions& options_;
  SimulatedRun run_;
  std::deque<SimulatedReplica> replicas_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t order_ = 0;
  std::size_t next_ = 0;
};

}  // namespace

double Speculation::mean_length() const { return std::accumulate(acceptance.begin(), acceptance.end(), 1.0); }

SimulatedRun simulate(const std::vector<TrafficRequest>& trace, StepClock& clock, const SimulationOptions& options) {
  return Simulation(trace, clock, options).run();
}

}  // namespace wavetune::search
