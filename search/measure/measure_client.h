// The driver's end of a measuring process: starts it, talks to it, survives it.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/process/message_channel.h"
#include "runtime/process/subprocess.h"
#include "search/measure/external_kernel.h"
#include "search/measure/messages.h"
#include "search/measure/peak_run.h"

namespace wavetune::measure {

struct MeasureClientOptions {
  std::string device;                                   ///< device spec ("cpu:8")
  int index = 0;                                        ///< which of the devices it shows
  std::shared_ptr<const ExternalKernel> external = {};  ///< a kernel that this build does not have; null: none
  /// device_checks_source(), compiled; null: the process looks at operands on the host.
  std::shared_ptr<const std::vector<std::byte>> checks = {};
  std::function<void(const std::string&)> warn = {};  ///< told what a person should know of a problem; empty: nobody
  std::filesystem::path worker_executable = {};  ///< empty: this executable, started as `wavetune __measure-worker`
  std::chrono::milliseconds open_timeout{120'000};
  std::chrono::milliseconds prepare_timeout{900'000};  ///< input data and reference, at worst on the host
  std::chrono::milliseconds run_timeout{20'000};       ///< one configuration: load, verify, time
};

/// One measuring process, started when first needed and replaced after it died or was killed. Belongs to the thread
/// that uses it: the process dies with that thread.
class MeasureClient {
 public:
  explicit MeasureClient(MeasureClientOptions options);

  /// Never throws for what the kernel does: a process that dies gives Outcome::fault with the last lines of its
  /// standard error (a sanitizer's report), one that does not answer in time Outcome::timeout. Throws Error when the
  /// process cannot be started, cannot open the device, or cannot prepare the problem (the message says which).
  MeasureResult measure(const MeasureRequest& request);

  /// Same, for a run that may end at any moment: `give_up` is asked several times a second, and when it says yes the
  /// process is killed and there is no result.
  std::optional<MeasureResult> measure(const MeasureRequest& request, const std::function<bool()>& give_up);

  /// Finalists timed in turns; one result each. Nothing when `give_up` said yes. A process that dies or does not answer
  /// in time gives all of them that outcome. Throws as measure() does.
  std::optional<std::vector<MeasureResult>> contest(const ContestRequest& request,
                                                    const std::function<bool()>& give_up);

  /// The problem will be measured soon: its data and reference are computed in the process while it measures another
  /// one. `if_room`: only if the process has memory left for it. True when nothing is left to wait for. Throws as
  /// measure() does.
  bool prepare_ahead(const db::Problem& problem, bool if_room = false, std::uint64_t seed = 1);

  /// Throws Error device when it cannot be measured.
  DevicePeak peak(std::span<const std::byte> code, const std::vector<PeakKernel>& kernels);

  /// From when the first measurement can begin to the last one's end, how much of it the device had copies or kernels
  /// to work on, and what it waited for in the rest. What is left, wall_s minus all the others, it waited for somebody
  /// to ask: for compiled configurations, as a rule.
  struct Occupation {
    double wall_s = 0;
    double busy_s = 0;
    double preparing_s = 0;  ///< for a problem to be prepared
    double trials_s = 0;     ///< for the host's part of measurements: loading code, messages, comparing
    Occupation& operator+=(const Occupation& other);
  };
  Occupation occupation() const;

  /// Which of the devices that the spec shows.
  int device() const { return options_.index; }
  /// Process id of the running worker, -1 when there is none.
  pid_t pid() const { return process_ ? process_->pid() : -1; }
  /// Processes started so far, beyond the first.
  int restarts() const { return starts_ > 0 ? starts_ - 1 : 0; }

 private:
  enum class Ending { answered, died, timed_out, given_up };
  struct Answer {
    Ending ending = Ending::answered;
    std::string message;  ///< the packed answer
    std::string error;    ///< how it died
  };

  void ensure_open();
  void ensure_prepared(const db::Problem& problem, std::uint64_t seed);
  /// Sends a measuring request. Nothing: it ended otherwise, and `failed` says how.
  std::optional<nlohmann::json> ask_to_measure(const nlohmann::json& head, std::span<const std::byte> payload,
                                               std::chrono::milliseconds timeout, MeasureResult& failed);
  Answer ask(const nlohmann::json& head, std::span<const std::byte> payload, std::chrono::milliseconds timeout);
  nlohmann::json ask_surely(const nlohmann::json& head, std::span<const std::byte> payload,
                            std::chrono::milliseconds timeout, const std::string& action);
  /// What `work` gives; nothing when `give_up` said yes meanwhile.
  template <class Work>
  auto unless_given_up(const std::function<bool()>& give_up, const Work& work) -> std::optional<decltype(work())>;
  /// Counts a request that kept the device's process from `begin` until now.
  void count(double Occupation::*waited_for, std::chrono::steady_clock::time_point begin, double busy_us);
  void drain_error();
  void stop();

  MeasureClientOptions options_;
  std::optional<process::Subprocess> process_;
  std::optional<process::MessageChannel> channel_;
  std::string error_text_;  ///< the process's standard error, the last of it
  std::string prepared_;    ///< what the process has prepared: seed and problem key
  int starts_ = 0;
  std::chrono::steady_clock::time_point first_begin_{}, last_end_{};  ///< of measurements
  Occupation occupation_;                                             ///< without wall_s
  std::function<bool()> give_up_;                                     ///< of the measurement in progress; empty: never
};

/// What of a dead process's standard error tells the reader most: a sanitizer's report from its headline on, else the
/// last lines.
std::string telling_lines(const std::string& error_text);

}  // namespace wavetune::measure
