#include "db/base/time.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <ctime>

#include "db/base/error.h"

namespace wavetune {

namespace {

using Time = std::chrono::sys_time<std::chrono::milliseconds>;

std::string text_of(Time time) {
  const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, time.time_since_epoch().count() % 1000);
}

}  // namespace

std::string utc_now() {
  return text_of(std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now()));
}

std::string utc_after(std::string_view earlier) {
  std::string now = utc_now();
  if (now > earlier) return now;
  const std::string text(earlier);
  std::tm parts{};
  int milliseconds = 0;
  const char* const rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr || std::sscanf(rest, ".%3dZ", &milliseconds) != 1)
    fail(ErrorKind::bad_data, "'{}' is not a time like 2026-08-01T12:34:56.789Z", text);
  return text_of(Time(std::chrono::seconds(::timegm(&parts)) + std::chrono::milliseconds(milliseconds + 1)));
}

}  // namespace wavetune
