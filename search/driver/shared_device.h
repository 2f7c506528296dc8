// One device with its measuring process, shared by the shapes that are tuned on it side by side.
#pragma once

#include <functional>
#include <span>
#include <utility>

#include "db/problem.h"
#include "search/driver/device_thread.h"
#include "search/measure/measure_client.h"

namespace wavetune::search {

class SharedDevice {
 public:
  explicit SharedDevice(measure::MeasureClientOptions options) : client_(std::move(options)) {}

  /// For work on thread().
  measure::MeasureClient& client() { return client_; }
  DeviceThread& thread() { return thread_; }

  /// Has the data of `problem`, and then of those that come next as far as memory goes, made in the measuring process,
  /// and returns when that of `problem` is there or `enough` says yes. Meanwhile the device measures what others ask
  /// for. What goes wrong shows when the problem is measured.
  void prepare(const db::Problem& problem, std::span<const db::Problem> next, const std::function<bool()>& enough);

 private:
  bool ready(const db::Problem& problem, bool if_room);

  measure::MeasureClient client_;
  DeviceThread thread_;  ///< ends before what it uses
};

}  // namespace wavetune::search
