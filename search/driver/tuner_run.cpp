#include "search/driver/tuner_run.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "db/base/error.h"
#include "search/driver/interrupt.h"
#include "search/driver/model_tasks.h"
#include "search/driver/roofline.h"
#include "search/driver/shared_device.h"
#include "search/driver/task_scheduler.h"
#include "search/driver/winner_code.h"

namespace wavetune::search {
namespace {

// Until trials have been timed in this run: what one takes, about.
constexpr double first_guess_of_a_trial_s = 1.0;
// From this part of the weight on, untouched shapes are new ones and not the tail that an earlier run did not reach.
constexpr double new_shapes_share = 0.25;
// Turns that a GPU works on side by side: it measures one shape while another waits for its first compiles, for its
// data, or for the last of its results. Where kernels are compiled on the cores that measure, one after the other.
constexpr int turns_a_gpu = measure::most_problems_at_hand;
// A measurement takes less, unless the kernel hangs.
constexpr std::chrono::seconds patience_after_interrupt{2};

bool is_collective(const TuneTask& task) { return task.problem.op == "all_reduce"; }

class Run {
 public:
  Run(const TuneContext& context, std::vector<TuneTask> tasks, Budget budget)
      : context_(context), tasks_(std::move(tasks)), budget_(budget), states_(tasks_.size()) {}

  TuneReport go() {
    int kept = 0;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      states_[i] = shape_state(context_, tasks_[i]);
      touched_before_.push_back(states_[i].trials > 0);
      kept += states_[i].trials;
    }
    if (!budget_.worth_starting()) grant_new_shapes();
    context_.reporter.start({static_cast<int>(tasks_.size()), kept, budget_.left_s(), context_.environment.device,
                             context_.database.path().string()});
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (states_[i].finished) report_shape(i, 0);
    }
    if (budget_.worth_starting()) tune_all();
    // Winners of earlier runs, and of databases that were imported: their code may be missing.
    for (std::size_t i = 0; i < tasks_.size() && !InterruptGuard::requested(); ++i) {
      if (states_[i].best_us > 0) keep_winner_code(context_, tasks_[i]);
    }
    return summary();
  }

 private:
  bool over() const { return InterruptGuard::requested() || budget_.spent(); }

  /// At the end of the budget everything stops; after Ctrl-C the measurement in progress has a moment to end.
  Patience patience() {
    if (budget_.spent()) return Patience::none;
    if (!InterruptGuard::requested()) return Patience::go_on;
    const std::int64_t now = Budget::Clock::now().time_since_epoch().count();
    std::int64_t first = 0;
    if (interrupted_at_.compare_exchange_strong(first, now)) first = now;
    return Budget::Clock::duration(now - first) < patience_after_interrupt ? Patience::finish_measurement
                                                                           : Patience::none;
  }

  int turns_a_device() const {
    if (context_.options.turns_a_device > 0) return context_.options.turns_a_device;
    return on_cpu() ? 1 : turns_a_gpu;
  }
  bool on_cpu() const { return context_.provider.kind() == hip::ProviderKind::cpu; }
  bool closed(std::size_t i) const { return states_[i].finished || (only_untouched_ && touched_before_[i]); }

  /// Earlier runs spent the budget. When much of what is asked for now was not there then (another tensor-parallel
  /// degree, larger batches), that part gets its share of the budget; a light tail that was not reached is left until
  /// the budget is raised.
  void grant_new_shapes() {
    double all = 0;
    double untouched = 0;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      all += tasks_[i].weight;
      if (states_[i].trials == 0) untouched += tasks_[i].weight;
    }
    if (untouched < new_shapes_share * all) return;
    budget_.grant(budget_.total_s() * untouched / all);
    only_untouched_ = true;
  }

  /// Single devices work side by side; collectives need all of them and come after, with their part of the time.
  void tune_all() {
    std::vector<std::size_t> single;
    std::vector<std::size_t> collective;
    double single_weight = 0;
    double collective_weight = 0;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (closed(i)) continue;
      (is_collective(tasks_[i]) ? collective : single).push_back(i);
      (is_collective(tasks_[i]) ? collective_weight : single_weight) += tasks_[i].weight;
    }
    // The CPU provider's devices share the cores: they must not be timed at the same time.
    const std::size_t devices = on_cpu() ? 1 : context_.provider.devices().size();
    const int all = context_.options.trials;
    if (budget_.limited() && !collective.empty()) {
      // Their floors first: at the end of a short budget it might be too late.
      work(collective, 1, 1, std::min(all, floor_trials(first_guess_of_a_trial_s, open_shapes())));
      reserved_s_ = budget_.left_s() * collective_weight / std::max(1e-9, single_weight + collective_weight);
    }
    const auto turns = static_cast<std::size_t>(turns_a_device());
    work(single, devices, turns, all);
    reserved_s_ = 0;
    work(collective, 1, 1, all);
    // What the collectives left over.
    std::erase_if(single, [this](std::size_t i) { return closed(i); });
    if (!collective.empty()) work(single, devices, turns, all);
  }

  /// For the tasks of list_.
  double left_s() const { return std::max(0.0, budget_.left_s() - reserved_s_); }

  int open_shapes() const {
    int open = 0;
    for (std::size_t i = 0; i < tasks_.size(); ++i) open += closed(i) ? 0 : 1;
    return open;
  }

  /// `turns`: at most so many on each device side by side. `cap`: trials of a shape after which it gets no more turns
  /// here.
  void work(const std::vector<std::size_t>& list, std::size_t devices, std::size_t turns, int cap) {
    if (list.empty() || over()) return;
    std::vector<TaskScheduler::Shape> shapes;
    for (std::size_t i : list) {
      shapes.push_back({tasks_[i].weight,
                        roofline_us(tasks_[i].op->cost(tasks_[i].problem), context_.peak, tasks_[i].problem.dtype),
                        launch_us, states_[i].trials, states_[i].best_us, states_[i].finished});
    }
    TaskScheduler scheduler(shapes, cap);
    list_ = list;
    const std::size_t lanes = std::min(devices * turns, list.size());
    lanes_ = static_cast<int>(lanes);
    std::vector<std::unique_ptr<SharedDevice>> open;
    for (std::size_t i = 0; i < std::min(devices, lanes); ++i)
      open.push_back(std::make_unique<SharedDevice>(client_options(context_, static_cast<int>(i))));
    std::exception_ptr failure;
    const auto serve = [&](SharedDevice& device) {
      try {
        while (const std::optional<Turn> turn = next_turn(scheduler, failure)) tune(*turn, scheduler, device);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        failure = std::current_exception();
        turn_over_.notify_all();
      }
    };
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < lanes; ++i) others.emplace_back(serve, std::ref(*open[i % open.size()]));
    serve(*open.front());
    for (std::thread& thread : others) thread.join();
    for (const auto& device : open) add_occupation(device->client().occupation());
    if (failure) std::rethrow_exception(failure);
  }

  struct Turn {
    TaskScheduler::Turn turn;
    Slice slice;
    double slice_s = 0;  ///< the turn may take so long; floors are not bound by it
  };

  /// Waits while the only shapes that may go on are with other devices.
  std::optional<Turn> next_turn(TaskScheduler& scheduler, const std::exception_ptr& failure) {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (over() || left_s() <= 0 || failure) return std::nullopt;
      double weights = 0;
      int open = 0;
      std::int64_t missing = 0;
      for (std::size_t i : list_) {
        if (closed(i)) continue;
        weights += tasks_[i].weight;
        ++open;
        missing += std::max(0, context_.options.trials - states_[i].trials);
      }
      const double trial_s = seconds_a_trial();
      const bool plenty = !budget_.limited() || left_s() >= static_cast<double>(missing) * trial_s;
      const int floor = floor_trials(trial_s, open);
      if (const std::optional<TaskScheduler::Turn> next = scheduler.next(floor, plenty)) {
        prepare_others(list_[next->shape]);
        return make_turn(*next, weights, open, floor, trial_s);
      }
      if (!scheduler.busy()) return std::nullopt;
      turn_over_.wait_for(lock, std::chrono::milliseconds(100));
    }
  }

  /// While a GPU measures one shape, the first configurations of those after it are compiled: as many as there are
  /// compile workers. (On the CPU nothing is compiled beside a measurement.)
  void prepare_others(std::size_t chosen) {
    if (on_cpu()) return;
    int room = context_.compiler.workers();
    for (auto at = list_.begin(); at != list_.end() && room > 0; ++at) {
      if (*at == chosen || closed(*at) || states_[*at].trials > 0) continue;
      --room;
      if (compiled_ahead_.insert(*at).second) compile_ahead(context_, tasks_[*at]);
    }
  }

  Turn make_turn(const TaskScheduler::Turn& next, double weights, int open, int floor, double trial_s) {
    const std::size_t index = list_[next.shape];
    const double weight = tasks_[index].weight;
    const int left_to_cap = context_.options.trials - states_[index].trials;
    Turn turn{next, {}, Budget::unlimited};
    turn.slice.most_trials = next.until_trials;
    turn.slice.lanes = lanes_;
    turn.slice.expected_trials = left_to_cap;
    turn.slice.patience = [this] { return patience(); };
    turn.slice.seconds_left = [this] { return seconds_left(); };
    if (!budget_.limited()) return turn;
    // Its part by weight, of what turns that go on side by side have together: what it would get in all if every shape
    // promised the same. The strategy counts on that, not on one turn.
    const double part_s = slice_s(left_s(), weight, weights, open, floor * trial_s) * lanes_;
    const double one_s = trial_s * lanes_;
    const int made_by_turn = std::max(1, next.until_trials - states_[index].trials);
    turn.slice.expected_trials =
        std::clamp(static_cast<int>(part_s / one_s), std::min(made_by_turn, left_to_cap), std::max(1, left_to_cap));
    turn.slice.budget_s = std::max(part_s, one_s * std::min(made_by_turn, left_to_cap));
    if (open > 1) turn.slice_s = std::max(part_s, 2 * one_s * std::min(made_by_turn, floor));
    return turn;
  }

  /// Has the data of this turn's shape and of those that come next made, in the measuring process: the heaviest that
  /// nothing is known of yet. Returns when the turn can begin; until then the device measures those of other turns. On
  /// the CPU it would disturb the measurements.
  void prepare_data(std::size_t chosen, SharedDevice& device) {
    if (on_cpu() && turns_a_device() == 1) return;
    const int shapes_ahead = 1 + turns_a_device();  // those of other turns may be among them
    std::vector<db::Problem> next;
    {
      const std::lock_guard lock(mutex_);
      for (auto at = list_.begin(); at != list_.end() && static_cast<int>(next.size()) < shapes_ahead; ++at) {
        if (*at != chosen && !closed(*at) && states_[*at].trials == 0) next.push_back(tasks_[*at].problem);
      }
    }
    device.prepare(tasks_[chosen].problem, next, [this] { return over(); });
  }

  void tune(const Turn& turn, TaskScheduler& scheduler, SharedDevice& device) {
    const std::size_t index = list_[turn.turn.shape];
    const TuneTask& task = tasks_[index];
    const int before = states_[index].trials;
    const auto begin = Budget::Clock::now();
    const auto used_s = [begin] { return std::chrono::duration<double>(Budget::Clock::now() - begin).count(); };
    Slice slice = turn.slice;
    slice.enough = [&](int trials) {
      if (over() || left_s() <= 0) return true;
      return !turn.turn.floor && trials > before && used_s() >= turn.slice_s;
    };
    ShapeState state = states_[index];
    try {
      prepare_data(index, device);
      state = tune_shape(context_, task, device.client(), device.thread(), slice);
      keep_winner_code(context_, task);
    } catch (const Error& error) {
      // The reference or the compile service failed for this shape; the others may do better. A failing database ends
      // the run.
      if (error.kind() == ErrorKind::io || error.kind() == ErrorKind::bad_data) throw;
      context_.reporter.warning(fmt::format("{} is left out: {}", task.problem.key(), error.what()));
      state = shape_state(context_, task);
      state.new_trials = state.trials - before;
      state.finished = true;
    }
    const std::lock_guard lock(mutex_);
    made_ += state.new_trials;
    states_[index] = state;
    // A shape that could make no trial although there was time has nothing to come back for.
    const bool stuck = state.new_trials == 0 && !over() && left_s() > 0;
    scheduler.done(turn.turn.shape, {state.trials, state.best_us, state.finished || stuck, used_s()});
    report_shape(index, state.new_trials);
    turn_over_.notify_all();
  }

  /// Trials that each shape gets whatever its weight. A short budget lowers it, down to the default configuration
  /// alone: every shape then has a time, and the layout rests on measurements.
  int floor_trials(double trial_s, int shapes) const {
    const int wanted = std::min(context_.options.floor_trials, context_.options.trials);
    if (!budget_.limited()) return wanted;
    const double affordable = left_s() / trial_s / std::max(1, shapes);
    return std::clamp(static_cast<int>(affordable), 1, wanted);
  }

  /// What a trial takes of the run, all devices counted: with two devices, half of what one is busy with it.
  double seconds_a_trial() const {
    const std::int64_t made = context_.reporter.trials();
    if (made == 0) return first_guess_of_a_trial_s;
    return std::chrono::duration<double>(Budget::Clock::now() - begin_).count() / static_cast<double>(made);
  }

  double seconds_left() {
    const std::lock_guard lock(mutex_);
    if (budget_.limited()) return budget_.left_s();
    const std::int64_t made = context_.reporter.trials();
    if (made == 0) return -1;
    std::int64_t missing = 0;
    for (const ShapeState& state : states_) {
      if (!state.finished) missing += std::max(0, context_.options.trials - state.trials);
    }
    // Spaces smaller than the cap make this an upper bound.
    return seconds_a_trial() * static_cast<double>(std::max<std::int64_t>(0, missing - (made - made_)));
  }

  void report_shape(std::size_t index, int new_trials) {
    const TuneTask& task = tasks_[index];
    const ShapeState& state = states_[index];
    context_.reporter.shape({task.problem.key(), state.trials, new_trials, state.finished, state.best_us,
                             roofline_us(task.op->cost(task.problem), context_.peak, task.problem.dtype),
                             db::to_text(state.best)});
  }

  void add_occupation(const measure::MeasureClient::Occupation& occupation) {
    const std::lock_guard lock(mutex_);
    occupation_ += occupation;
  }

  TuneReport summary() const {
    TuneReport report;
    report.interrupted = InterruptGuard::requested();
    report.shapes = static_cast<int>(tasks_.size());
    for (const ShapeState& state : states_) {
      report.finished += state.finished ? 1 : 0;
      report.untouched += state.trials == 0 && !state.finished ? 1 : 0;
    }
    report.trials = made_;
    if (occupation_.wall_s > 0) {
      const auto share = [&](double seconds) { return std::clamp(seconds / occupation_.wall_s, 0.0, 1.0); };
      report.idle_share = 1 - share(occupation_.busy_s);
      report.preparing_share = share(occupation_.preparing_s);
      report.trials_share = share(occupation_.trials_s);
      report.unasked_share = std::max(0.0, report.idle_share - report.preparing_share - report.trials_share);
    }
    report.seconds = std::chrono::duration<double>(Budget::Clock::now() - begin_).count();
    return report;
  }

  const TuneContext& context_;
  std::vector<TuneTask> tasks_;
  Budget budget_;
  std::mutex mutex_;  ///< guards what follows while devices work side by side
  std::vector<ShapeState> states_;
  std::vector<bool> touched_before_;  ///< by an earlier run
  bool only_untouched_ = false;
  std::vector<std::size_t> list_;  ///< tasks that are worked on now
  std::set<std::size_t> compiled_ahead_;
  int lanes_ = 1;  ///< turns that go on side by side
  std::int64_t made_ = 0;
  measure::MeasureClient::Occupation occupation_;  ///< of all devices together
  std::condition_variable turn_over_;
  double reserved_s_ = 0;  ///< for tasks that come after those of list_
  std::atomic<std::int64_t> interrupted_at_ = 0;
  Budget::Clock::time_point begin_ = Budget::Clock::now();
};

}  // namespace

TuneReport run_tasks(const TuneContext& context, std::vector<TuneTask> tasks, const Budget& budget) {
  return Run(context, std::move(tasks), budget).go();
}

}  // namespace wavetune::search
