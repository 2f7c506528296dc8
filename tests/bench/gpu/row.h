// One line of the bench's table, and what is said about many of them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "db/problem.h"

namespace wavetune::gpu_bench {

struct Row {
  db::Problem problem;
  double needed_bytes = 0, flops = 0;
  double ours_us = 0;
  double byte_us = 0;  ///< needed bytes over measured copy bandwidth
  double flop_us = 0;  ///< flops over measured peak
  std::optional<double> peer_us;
  std::string peer_name;  ///< what ran there, or why nothing did

  double roofline_us() const { return byte_us > flop_us ? byte_us : flop_us; }
  double share() const { return roofline_us() / ours_us; }
  /// How many times faster than the peer.
  std::optional<double> ratio() const { return peer_us ? std::optional(*peer_us / ours_us) : std::nullopt; }
  /// "N x K", or what the operator has instead.
  std::string shape() const;
};

std::string header();
std::string line(const Row& row);
nlohmann::json to_json(const Row& row);

/// Geometric means and minima by operator, format and range of m; the figures of calls with MXFP4 weights by size.
std::string summary(const std::vector<Row>& rows);

}  // namespace wavetune::gpu_bench
