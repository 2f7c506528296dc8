#include "search/driver/pipeline.h"

#include <tbb/flow_graph.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#include "db/base/error.h"

namespace wavetune::search {
namespace {

namespace flow = tbb::flow;
using Clock = std::chrono::steady_clock;

// How soon the end of patience is seen.
constexpr std::chrono::milliseconds watch_interval{20};

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// A proposal on its way through the graph.
struct Item {
  std::size_t index = 0;
  db::Config config;
  bool ends_batch = false;
  std::shared_ptr<TrialMaker::Prepared> prepared;
  std::atomic<bool> compiled = false;  ///< its compile ended or was abandoned: the first of the two counts
  std::optional<db::Trial> trial;      ///< nothing: abandoned
  double compile_share_s = 0;          ///< in batches: its part of the batch's compile time
  double measured_s = 0;
};
/// Null where a message only says that something happened.
using Token = std::shared_ptr<Item>;

class Pipeline {
 public:
  Pipeline(TrialMaker& maker, DeviceThread& device, const PipelineOptions& options, const PipelineEnds& ends)
      : maker_(maker),
        device_(device),
        options_(options),
        ends_(ends),
        incumbent_us_(options.incumbent_us),
        plan_(graph_, flow::serial, [this](const Token& token, Plan::output_ports_type& out) { plan(token, out); }),
        compile_(graph_, flow::unlimited,
                 [this](const Token& token, Compile::gateway_type& out) { compile(token, out); }),
        check_(graph_, flow::unlimited, [this](const Token& token) { return check(token); }),
        order_(graph_, [](const Token& token) { return token->index; }),
        gate_(graph_, flow::serial, [this](const Token& token, Gate::output_ports_type& out) { gate(token, out); }),
        measure_(graph_, flow::serial,
                 [this](const Token& token, Measure::gateway_type& out) { measure(token, out); }) {
    flow::make_edge(flow::output_port<0>(plan_), compile_);
    flow::make_edge(flow::output_port<1>(plan_), gate_);
    flow::make_edge(compile_, check_);
    flow::make_edge(check_, order_);
    flow::make_edge(order_, gate_);
    flow::make_edge(flow::output_port<0>(gate_), measure_);
    flow::make_edge(measure_, plan_);
  }

  PipelineReport run() {
    last_told_ = Clock::now();
    {
      std::thread watch([this] { watch_patience(); });
      plan_.try_put(nullptr);
      graph_.wait_for_all();
      {
        const std::lock_guard lock(mutex_);
        over_ = true;
      }
      wake_.notify_all();
      watch.join();
    }
    if (failure_) std::rethrow_exception(failure_);
    return report_;
  }

 private:
  using Plan = flow::multifunction_node<Token, std::tuple<Token, Token>>;
  using Compile = flow::async_node<Token, Token>;
  using Gate = flow::multifunction_node<Token, std::tuple<Token>>;
  using Measure = flow::async_node<Token, Token>;

  bool ending() const { return ended_; }

  /// Runs a node's body; what it throws ends the pipeline instead of the graph, whose tokens must all come home.
  template <class Body>
  void guarded(const Body& body) {
    try {
      body();
    } catch (...) {
      failed(std::current_exception());
    }
  }

  void failed(std::exception_ptr failure) {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::move(failure);
      ended_ = true;
      killed_ = true;
    }
    wake_.notify_all();
  }

  // plan

  /// `token` is a result, or null at the beginning.
  void plan(const Token& token, Plan::output_ports_type& out) {
    std::vector<Token> proposed;
    guarded([&] {
      if (token) tell(*token);
      propose(proposed);
    });
    for (const Token& item : proposed) std::get<0>(out).try_put(item);
    if (token) std::get<1>(out).try_put(nullptr);
  }

  void tell(Item& item) {
    --outstanding_;
    if (item.index != next_told_) fail(ErrorKind::internal, "result {} came before result {}", item.index, next_told_);
    ++next_told_;
    // A result that comes in after the end is kept: it is paid for.
    if (!item.trial || told_failed_) {
      ++report_.abandoned;
      return;
    }
    const Clock::time_point now = Clock::now();
    const double cost_s = options_.batches ? item.compile_share_s + item.measured_s : seconds_between(last_told_, now);
    last_told_ = now;
    told_failed_ = true;
    ends_.told(*item.trial, cost_s);
    told_failed_ = false;
    ++report_.told;
  }

  void propose(std::vector<Token>& proposed) {
    if (options_.batches && outstanding_ > 0) return;
    while (outstanding_ < options_.depth && wants_more()) {
      std::optional<db::Config> config = ends_.propose();
      if (!config) {
        report_.exhausted = true;
        break;
      }
      auto item = std::make_shared<Item>();
      item->index = proposals_++;
      item->config = std::move(*config);
      ++outstanding_;
      proposed.push_back(std::move(item));
    }
    if (!proposed.empty()) proposed.back()->ends_batch = true;
    batch_began_ = Clock::now();
  }

  bool wants_more() {
    if (finishing_ || report_.exhausted || ending() || proposals_ >= static_cast<std::size_t>(options_.most))
      return false;
    // Asked once for a batch, so that a batch is whole.
    if (options_.batches && outstanding_ > 0) return true;
    finishing_ = options_.enough && options_.enough();
    return !finishing_;
  }

  // compile

  void compile(const Token& token, Compile::gateway_type& out) {
    out.reserve_wait();
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(compiling_, [](const auto& item) { return item.first->compiled.load(); });
      compiling_.emplace_back(token, &out);
    }
    if (ending()) return abandon(token, out);
    guarded([&] {
      maker_.prepare(token->config,
                     [this, token, &out](std::shared_ptr<TrialMaker::Prepared> made, std::exception_ptr failure) {
                       // A compiler that nobody waits for any longer: the pipeline may be gone.
                       if (token->compiled.exchange(true)) return;
                       if (failure && !ending() && !impatient()) failed(std::move(failure));
                       token->prepared = std::move(made);
                       out.try_put(token);
                       out.release_wait();
                     });
    });
    // When prepare() threw, nobody else will.
    if (ending()) abandon(token, out);
  }

  static void abandon(const Token& token, Compile::gateway_type& out) {
    if (token->compiled.exchange(true)) return;
    out.try_put(token);
    out.release_wait();
  }

  bool impatient() const { return options_.patience && options_.patience() != Patience::go_on; }

  Token check(const Token& token) {
    if (token->prepared && !ending()) guarded([&] { maker_.check(token->config, *token->prepared); });
    return token;
  }

  // gate

  /// `token` is a compiled item, or null when a result was told.
  void gate(const Token& token, Gate::output_ports_type& out) {
    if (!options_.batches) {
      if (token) std::get<0>(out).try_put(token);
      return;
    }
    if (!token) device_busy_ = false;
    if (token) {
      compiled_batch_.push_back(token);
      if (token->ends_batch) open_batch();
    }
    if (!batch_open_ || device_busy_) return;
    if (compiled_batch_.empty()) {
      batch_open_ = false;
      return;
    }
    device_busy_ = true;
    const Token next = std::move(compiled_batch_.front());
    compiled_batch_.pop_front();
    if (compiled_batch_.empty()) batch_open_ = false;
    std::get<0>(out).try_put(next);
  }

  void open_batch() {
    batch_open_ = true;
    const double share = seconds_between(batch_began_, Clock::now()) / static_cast<double>(compiled_batch_.size());
    for (const Token& item : compiled_batch_) item->compile_share_s = share;
  }

  // measure

  void measure(const Token& token, Measure::gateway_type& out) {
    out.reserve_wait();
    device_.post([this, token, &out] {
      const Clock::time_point begin = Clock::now();
      if (token->prepared && !ending()) {
        guarded([&] {
          token->trial = maker_.measure(token->config, *token->prepared, incumbent_us_, [this] { return gives_up(); });
        });
      }
      token->prepared.reset();  // the code object
      token->measured_s = seconds_between(begin, Clock::now());
      if (token->trial && token->trial->outcome == db::Outcome::ok &&
          (incumbent_us_ <= 0 || token->trial->median_us < incumbent_us_)) {
        incumbent_us_ = token->trial->median_us;
      }
      out.try_put(token);
      out.release_wait();
    });
  }

  bool gives_up() const { return killed_ || (options_.patience && options_.patience() == Patience::none); }

  // the end

  void watch_patience() {
    std::unique_lock lock(mutex_);
    while (!over_) {
      wake_.wait_for(lock, watch_interval);
      if (over_) return;
      if (!ended_ && impatient()) ended_ = true;
      if (!ended_) continue;
      std::vector<std::pair<Token, Compile::gateway_type*>> waiting;
      waiting.swap(compiling_);
      lock.unlock();
      bool any = false;
      for (auto& [token, out] : waiting) {
        any = any || !token->compiled;
        abandon(token, *out);
      }
      if (any) maker_.give_up_all();
      lock.lock();
    }
  }

  TrialMaker& maker_;
  DeviceThread& device_;
  const PipelineOptions& options_;
  const PipelineEnds& ends_;

  // Of plan.
  std::size_t proposals_ = 0;
  std::size_t next_told_ = 0;
  int outstanding_ = 0;
  bool finishing_ = false;
  bool told_failed_ = false;
  Clock::time_point last_told_;
  PipelineReport report_;
  // Of plan, then of gate: never in use at the same time.
  Clock::time_point batch_began_;
  // Of gate.
  std::deque<Token> compiled_batch_;
  bool batch_open_ = false;
  bool device_busy_ = false;
  // Of the device's thread.
  double incumbent_us_;

  std::atomic<bool> ended_ = false;   ///< nothing new begins
  std::atomic<bool> killed_ = false;  ///< the measurement in progress is abandoned
  std::mutex mutex_;                  ///< guards what follows
  std::condition_variable wake_;
  std::vector<std::pair<Token, Compile::gateway_type*>> compiling_;
  bool over_ = false;
  std::exception_ptr failure_;

  flow::graph graph_;
  Plan plan_;
  Compile compile_;
  flow::function_node<Token, Token> check_;
  flow::sequencer_node<Token> order_;
  Gate gate_;
  Measure measure_;
};

}  // namespace

PipelineReport run_pipeline(TrialMaker& maker, DeviceThread& device, const PipelineOptions& options,
                            const PipelineEnds& ends) {
  return Pipeline(maker, device, options, ends).run();
}

}  // namespace wavetune::search
