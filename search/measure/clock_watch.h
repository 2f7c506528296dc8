// The device's state while configurations are timed: what is stored with a trial, and which samples do not count.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "db/trial.h"
#include "search/measure/clock_probe.h"

namespace wavetune::measure {

class ClockWatch {
 public:
  /// `probe` may be null: nothing is known, and nothing is ever slowed down.
  explicit ClockWatch(std::unique_ptr<ClockProbe> probe,
                      std::chrono::microseconds interval = std::chrono::milliseconds(1));

  /// A new trial begins.
  void begin();
  /// While the device works. Reads the probe unless it was read a moment ago.
  void look();
  /// The clock was clearly below the best one of all trials so far when it was last read, or the driver says that the
  /// device is held down.
  bool slowed_down() const;
  /// Of the trial since begin(); `retaken` samples were thrown away.
  db::DeviceState state(int retaken) const;

 private:
  std::unique_ptr<ClockProbe> probe_;
  std::chrono::microseconds interval_;
  std::chrono::steady_clock::time_point last_look_{};
  ClockReading last_;
  int best_mhz_ = 0;
  std::vector<double> clocks_;  ///< of this trial
  std::optional<int> power_w_, temperature_c_;
};

}  // namespace wavetune::measure
