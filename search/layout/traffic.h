// What the users of a node ask of it: lengths, cache hits and arrivals. The layout planner simulates it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wavetune::search {

enum class Arrivals {
  poisson,  ///< independent users: exponential gaps
  even,     ///< equal gaps
};
std::string_view to_string(Arrivals arrivals);

struct Traffic {
  std::int64_t input = 1000;   ///< prompt tokens
  std::int64_t output = 1000;  ///< generated tokens
  double hit = 0;              ///< share of a prompt whose state the prefix cache holds
  double spread = 0;           ///< lengths are uniform in [(1 - spread) x length, length]
  Arrivals arrivals = Arrivals::poisson;
  std::vector<double> rates;  ///< requests a second to simulate; empty: chosen around the knee
  std::vector<int> clients;   ///< closed loops instead: each client sends its next request when the last is answered
  std::uint64_t seed = 1;

  /// "20000 tokens in, 1000 out, 60 % of the prompt cached, poisson arrivals".
  std::string description() const;
};

/// Reads "in=20000,out=1000,hit=0.6[,spread=0.2][,arrivals=poisson|even][,rate=0.5/1/2][,clients=1/16/64][,seed=1]".
/// Throws Error usage naming the part that is wrong.
Traffic parse_traffic(const std::string& text);

/// One request of a trace.
struct TrafficRequest {
  double arrival_us = 0;
  std::int64_t input = 1;
  std::int64_t cached = 0;  ///< leading tokens of the input that need not be computed; less than input
  std::int64_t output = 1;
};

/// `count` requests with the given mean rate; the same seed gives the same lengths and the same order of gaps at every
/// rate, so that layouts are compared on one trace. A rate of 0: all arrive at once (closed loops space them out).
std::vector<TrafficRequest> make_trace(const Traffic& traffic, double requests_per_s, std::size_t count);

}  // namespace wavetune::search
