// The other side of the comparison: a Python process (tests/bench/gpu_peer.py) that measures what a user would run
// instead on the same device, one request at a time.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "runtime/process/subprocess.h"

namespace wavetune::gpu_bench {

class Peer {
 public:
  /// Nothing, and the reason in `why`, where the script cannot run (no Python, no PyTorch, no CUDA device).
  static std::unique_ptr<Peer> start(const std::filesystem::path& script, std::string& why);

  /// The answer to a request; {"ok": false, "error": ...} when there is none in time or the process has ended.
  nlohmann::json ask(const nlohmann::json& request, std::chrono::seconds timeout = std::chrono::seconds{180});

 private:
  explicit Peer(const std::filesystem::path& script);
  std::optional<std::string> read_line(std::chrono::steady_clock::time_point deadline);

  process::Subprocess process_;
  std::string pending_;
  bool lost_ = false;
};

}  // namespace wavetune::gpu_bench
