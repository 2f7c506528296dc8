#include "search/driver/task_scheduler.h"

#include <algorithm>
#include <cmath>

namespace wavetune::search {
namespace {

// Of a shape without a time or without a roofline: as if it could be twice as fast.
constexpr double unknown_slack = 2;
// Trials of a turn at least: each turn begins with input data and a reference to be computed.
constexpr int shortest_turn = 4;

/// What it takes now over the least it can take; at least 1.
double slack(const TaskScheduler::Shape& shape) {
  if (!(shape.best_us > 0) || !(shape.roofline_us > 0)) return unknown_slack;
  return std::max(1.0, (shape.best_us + shape.launch_us) / (shape.roofline_us + shape.launch_us));
}

}  // namespace

TaskScheduler::TaskScheduler(std::vector<Shape> shapes, int cap) : cap_(cap) {
  for (const Shape& shape : shapes) {
    shapes_.push_back({shape});
    if (shape.trials >= cap) shapes_.back().shape.closed = true;
  }
}

double TaskScheduler::usual_seconds() const {
  double sum = 0;
  int known = 0;
  for (const State& state : shapes_) {
    if (!(state.seconds_a_trial > 0)) continue;
    sum += state.seconds_a_trial;
    ++known;
  }
  return known > 0 ? sum / known : 1;
}

double TaskScheduler::promise(std::size_t index) const {
  const State& state = shapes_[index];
  if (state.shape.closed) return 0;
  const double ratio = slack(state.shape);
  const double forward = (1 - 1 / ratio) / std::max(1, state.shape.trials);
  const double seconds = state.seconds_a_trial > 0 ? state.seconds_a_trial : usual_seconds();
  return state.shape.weight * ratio * (state.gain_a_trial + forward) / 2 / seconds;
}

std::optional<TaskScheduler::Turn> TaskScheduler::next(int floor_trials, bool plenty) {
  floor_trials = std::clamp(floor_trials, 1, cap_);
  std::optional<std::size_t> chosen;
  int open_shapes = 0;
  bool below_floor = false;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    if (shapes_[i].shape.closed) continue;
    ++open_shapes;
    if (!open(shapes_[i])) continue;
    const bool below = shapes_[i].shape.trials < floor_trials;
    if (!chosen || (!plenty && !below_floor && (below || promise(i) > promise(*chosen)))) {
      chosen = i;
      below_floor = below;
    }
  }
  if (!chosen) return std::nullopt;
  State& state = shapes_[*chosen];
  state.busy = true;
  const int trials = state.shape.trials;
  if (plenty || open_shapes == 1) return Turn{*chosen, cap_, below_floor};
  if (below_floor) return Turn{*chosen, floor_trials, true};
  return Turn{*chosen, std::min(cap_, trials + std::max(trials, shortest_turn)), false};
}

void TaskScheduler::done(std::size_t index, const Result& result) {
  State& state = shapes_[index];
  state.busy = false;
  const int made = result.trials - state.shape.trials;
  if (made > 0) {
    const bool compared = state.shape.best_us > 0 && result.best_us > 0;
    state.gain_a_trial = compared ? std::max(0.0, 1 - result.best_us / state.shape.best_us) / made : 0;
    if (result.seconds > 0) state.seconds_a_trial = result.seconds / made;
  }
  state.shape.trials = result.trials;
  state.shape.best_us = result.best_us;
  if (result.finished || result.trials >= cap_) state.shape.closed = true;
}

bool TaskScheduler::busy() const {
  return std::any_of(shapes_.begin(), shapes_.end(), [](const State& state) { return state.busy; });
}

}  // namespace wavetune::search
