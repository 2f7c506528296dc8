#include "search/layout/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <random>
#include <sstream>

#include "db/base/error.h"

namespace wavetune::search {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

double number(const std::string& name, const std::string& text, double least, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= least && value <= most)) {
    fail(ErrorKind::usage, "--workload: {}={} is not a number from {} to {}", name, text, least, most);
  }
  return value;
}

std::int64_t whole(const std::string& name, const std::string& text, std::int64_t most) {
  const double value = number(name, text, 1, static_cast<double>(most));
  if (value != std::floor(value)) fail(ErrorKind::usage, "--workload: {}={} is not a whole number", name, text);
  return static_cast<std::int64_t>(value);
}

constexpr std::int64_t most_tokens = 1 << 24;
constexpr std::int64_t most_clients = 65536;
constexpr double most_rate = 1e6;

void read_part(Traffic& traffic, const std::string& part) {
  const std::size_t equals = part.find('=');
  const std::string name = part.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
  if (name == "in") {
    traffic.input = whole(name, value, most_tokens);
  } else if (name == "out") {
    traffic.output = whole(name, value, most_tokens);
  } else if (name == "hit") {
    traffic.hit = number(name, value, 0, 1);
  } else if (name == "spread") {
    traffic.spread = number(name, value, 0, 1);
  } else if (name == "seed") {
    traffic.seed = static_cast<std::uint64_t>(whole(name, value, std::int64_t{1} << 53));
  } else if (name == "arrivals") {
    if (value != "poisson" && value != "even")
      fail(ErrorKind::usage, "--workload: arrivals={} is neither poisson nor even", value);
    traffic.arrivals = value == "even" ? Arrivals::even : Arrivals::poisson;
  } else if (name == "rate") {
    for (const std::string& one : split(value, '/')) traffic.rates.push_back(number(name, one, 1e-6, most_rate));
  } else if (name == "clients") {
    for (const std::string& one : split(value, '/'))
      traffic.clients.push_back(static_cast<int>(whole(name, one, most_clients)));
  } else {
    fail(ErrorKind::usage,
         "--workload: '{}' is unknown; write for example in=20000,out=1000,hit=0.6 (also spread, arrivals, rate, "
         "clients, seed)",
         part);
  }
}

std::int64_t drawn_length(std::int64_t length, double spread, std::mt19937_64& random) {
  const auto shortest = std::max<std::int64_t>(1, std::llround(static_cast<double>(length) * (1 - spread)));
  // Drawn by hand: the standard's distributions differ between libraries, and a trace must not.
  const double share = static_cast<double>(random() >> 11) * 0x1p-53;
  return shortest + static_cast<std::int64_t>(share * static_cast<double>(length - shortest + 1));
}

}  // namespace

std::string_view to_string(Arrivals arrivals) { return arrivals == Arrivals::even ? "even" : "poisson"; }

std::string Traffic::description() const {
  return fmt::format("{} tokens in, {} out{}, {:.0f} % of the prompt in the prefix cache, {}", input, output,
                     spread > 0 ? fmt::format(" (down to {:.0f} % of that)", 100 * (1 - spread)) : "", 100 * hit,
                     clients.empty() ? fmt::format("{} arrivals", to_string(arrivals)) : "closed loops");
}

Traffic parse_traffic(const std::string& text) {
  Traffic traffic;
  for (const std::string& part : split(text, ',')) read_part(traffic, part);
  if (!traffic.rates.empty() && !traffic.clients.empty())
    fail(ErrorKind::usage, "--workload: rate and clients exclude each other: open or closed loops");
  std::ranges::sort(traffic.rates);
  return traffic;
}

std::vector<TrafficRequest> make_trace(const Traffic& traffic, double requests_per_s, std::size_t count) {
  std::mt19937_64 random(traffic.seed);
  std::vector<TrafficRequest> trace;
  trace.reserve(count);
  double now = 0;
  for (std::size_t i = 0; i < count; ++i) {
    TrafficRequest request;
    request.arrival_us = now;
    request.input = drawn_length(traffic.input, traffic.spread, random);
    request.output = drawn_length(traffic.output, traffic.spread, random);
    // The last token is always computed: its logits give the first answer token.
    request.cached =
        std::min(request.input - 1, static_cast<std::int64_t>(traffic.hit * static_cast<double>(request.input)));
    const double uniform = (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
    if (requests_per_s > 0) now += 1e6 / requests_per_s * (traffic.arrivals == Arrivals::even ? 1 : -std::log(uniform));
    trace.push_back(request);
  }
  return trace;
}

}  // namespace wavetune::search
