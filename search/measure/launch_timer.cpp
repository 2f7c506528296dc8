#include "search/measure/launch_timer.h"

namespace wavetune::measure {

void LaunchTimer::before(int call, hipStream_t stream) {
  marks_.push_back({call, hip::make_event(api_), hip::make_event(api_)});
  hip::check(api_, api_.hipEventRecord(marks_.back().begin.get(), stream), "hipEventRecord");
}

void LaunchTimer::after(int, hipStream_t stream) {
  hip::check(api_, api_.hipEventRecord(marks_.back().end.get(), stream), "hipEventRecord");
}

std::map<int, double> LaunchTimer::times() const {
  std::map<int, double> result;
  for (const Mark& mark : marks_) {
    float milliseconds = 0;
    hip::check(api_, api_.hipEventElapsedTime(&milliseconds, mark.begin.get(), mark.end.get()), "hipEventElapsedTime");
    result[mark.call] += 1e3 * static_cast<double>(milliseconds);
  }
  return result;
}

}  // namespace wavetune::measure
