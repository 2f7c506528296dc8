#include "peer.h"

#include <poll.h>
#include <unistd.h>

#include <array>

#include "db/base/error.h"
#include "runtime/process/signals.h"

namespace wavetune::gpu_bench {
namespace {

process::SubprocessOptions python(const std::filesystem::path& script) {
  process::SubprocessOptions options;
  options.arguments = {"python3", script.string()};
  options.standard_error = process::Stdio::inherit;
  return options;
}

nlohmann::json failure(const std::string& error) { return {{"ok", false}, {"error", error}}; }

}  // namespace

Peer::Peer(const std::filesystem::path& script) : process_(python(script)) {}

std::unique_ptr<Peer> Peer::start(const std::filesystem::path& script, std::string& why) {
  // Where PyTorch is missing, Python's account of that would fill the screen: ask first.
  process::SubprocessOptions test;
  test.arguments = {"python3", script.string(), "--probe"};
  test.standard_error = process::Stdio::null;
  try {
    if (!process::run_and_capture(test).status.ok()) {
      why = "python3 cannot run " + script.string() + " (it needs PyTorch)";
      return nullptr;
    }
    std::unique_ptr<Peer> peer(new Peer(script));
    const nlohmann::json hello = peer->ask({{"do", "hello"}});
    if (hello.value("ok", false)) {
      why = fmt::format("PyTorch {}, Triton {}", hello.value("torch", "?"), hello.value("triton", "none"));
      return peer;
    }
    why = hello.value("error", "no answer");
  } catch (const Error& error) {
    why = error.what();
  }
  return nullptr;
}

nlohmann::json Peer::ask(const nlohmann::json& request, std::chrono::seconds timeout) {
  if (lost_) return failure("the peer process has ended");
  const process::SigpipeBlocked no_signal;
  std::string line = request.dump() + "\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(process_.input(), rest.data(), rest.size());
    if (written <= 0) {
      lost_ = true;
      return failure("the peer process has ended");
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  const auto answer = read_line(std::chrono::steady_clock::now() + timeout);
  if (!answer) {
    lost_ = true;
    process_.kill(SIGKILL);
    return failure(fmt::format("no answer within {} s", timeout.count()));
  }
  nlohmann::json json = nlohmann::json::parse(*answer, nullptr, false);
  return json.is_object() ? json : failure("not JSON: " + answer->substr(0, 200));
}

std::optional<std::string> Peer::read_line(std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    if (const std::size_t end = pending_.find('\n'); end != std::string::npos) {
      std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return line;
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd waiting{process_.output(), POLLIN, 0};
    if (left <= 0 || ::poll(&waiting, 1, static_cast<int>(left)) <= 0) return std::nullopt;
    std::array<char, 4096> buffer{};
    const ssize_t count = ::read(process_.output(), buffer.data(), buffer.size());
    if (count <= 0) return std::nullopt;
    pending_.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace wavetune::gpu_bench
