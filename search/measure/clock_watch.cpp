#include "search/measure/clock_watch.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "search/measure/timing.h"

namespace wavetune::measure {
namespace {

// Boost clocks wander by a few hundredths.
constexpr double clearly_below = 0.85;

void keep_highest(std::optional<int>& kept, const std::optional<int>& seen) {
  if (seen) kept = std::max(kept.value_or(*seen), *seen);
}

}  // namespace

ClockWatch::ClockWatch(std::unique_ptr<ClockProbe> probe, std::chrono::microseconds interval)
    : probe_(std::move(probe)), interval_(interval) {}

void ClockWatch::begin() {
  clocks_.clear();
  power_w_.reset();
  temperature_c_.reset();
  last_look_ = {};
  last_ = {};
}

void ClockWatch::look() {
  if (!probe_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_look_ < interval_) return;
  last_look_ = now;
  last_ = probe_->read();
  if (last_.clock_mhz) {
    best_mhz_ = std::max(best_mhz_, *last_.clock_mhz);
    clocks_.push_back(*last_.clock_mhz);
  }
  keep_highest(power_w_, last_.power_w);
  keep_highest(temperature_c_, last_.temperature_c);
}

bool ClockWatch::slowed_down() const {
  return last_.slowed_down || (last_.clock_mhz && *last_.clock_mhz < clearly_below * best_mhz_);
}

db::DeviceState ClockWatch::state(int retaken) const {
  db::DeviceState state;
  if (!probe_) return state;
  if (!clocks_.empty()) state.clock_mhz = static_cast<int>(std::lround(median(clocks_)));
  state.power_w = power_w_;
  state.temperature_c = temperature_c_;
  state.throttled = retaken;
  return state;
}

}  // namespace wavetune::measure
