#include "search/driver/budget.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <optional>

namespace wavetune::search {
namespace {

// A trial takes a second or so; a compile time-out (60 s) is the longest gap inside a run.
constexpr double longest_gap_s = 60;

std::optional<double> seconds_of(const std::string& iso) {
  std::tm time{};
  double seconds = 0;
  if (std::sscanf(iso.c_str(), "%d-%d-%dT%d:%d:%lf", &time.tm_year, &time.tm_mon, &time.tm_mday, &time.tm_hour,
                  &time.tm_min, &seconds) != 6) {
    return std::nullopt;
  }
  time.tm_year -= 1900;
  time.tm_mon -= 1;
  return static_cast<double>(::timegm(&time)) + seconds;
}

}  // namespace

Budget::Budget(double total_s, double spent_s, Clock::time_point start)
    : total_s_(total_s), spent_s_(std::min(spent_s, total_s)), start_(start) {}

double Budget::left_s() const {
  if (!limited()) return unlimited;
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  return std::max(0.0, total_s_ - spent_s_ - elapsed);
}

void Budget::grant(double seconds) { spent_s_ = std::max(0.0, spent_s_ - seconds); }

double slice_s(double left_s, double weight, double weights_left, int shapes_left, double floor_s) {
  if (left_s == Budget::unlimited) return Budget::unlimited;
  const double floor = std::min(floor_s, left_s / std::max(1, shapes_left));
  const double beyond_floors = left_s - floor * shapes_left;
  return floor + (weights_left > 0 ? beyond_floors * weight / weights_left : 0);
}

double spent_seconds(const std::vector<std::string>& created_at) {
  double spent = 0;
  std::optional<double> last;
  for (const std::string& text : created_at) {
    const std::optional<double> now = seconds_of(text);
    if (!now) continue;
    if (last && *now > *last && *now - *last <= longest_gap_s) spent += *now - *last;
    last = now;
  }
  return spent;
}

}  // namespace wavetune::search
