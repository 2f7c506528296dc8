#include "search/measure/measure_client.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "db/base/error.h"
#include "runtime/jit/packed_message.h"

namespace wavetune::measure {
namespace {

/// Thrown and caught in here.
struct GivenUp {};

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kept_error_bytes = 64 << 10;
constexpr int told_lines = 12;

std::string lines_from(const std::string& text, std::size_t begin, int count) {
  std::size_t end = begin;
  for (int line = 0; line < count && end != std::string::npos; ++line)
    end = text.find('\n', end == begin ? end : end + 1);
  return text.substr(begin, end == std::string::npos ? end : end - begin);
}

}  // namespace

std::string telling_lines(const std::string& error_text) {
  if (const std::size_t report = error_text.find("ERROR: ");
      report != std::string::npos && error_text.find("Sanitizer", report) != std::string::npos) {
    return lines_from(error_text, report, told_lines);
  }
  std::size_t begin = error_text.size();
  while (begin > 0 && error_text[begin - 1] == '\n') --begin;
  const std::size_t end = begin;
  for (int line = 0; line < told_lines && begin != std::string::npos && begin > 0; ++line) {
    begin = error_text.rfind('\n', begin - 1);
  }
  begin = begin == std::string::npos || begin == 0 ? 0 : begin + 1;
  return begin < end ? error_text.substr(begin, end - begin) : "";
}

template <class Work>
auto MeasureClient::unless_given_up(const std::function<bool()>& give_up, const Work& work)
    -> std::optional<decltype(work())> {
  give_up_ = give_up;
  std::optional<decltype(work())> result;
  try {
    result = work();
  } catch (const GivenUp&) {
    result.reset();
  } catch (...) {
    give_up_ = nullptr;
    throw;
  }
  give_up_ = nullptr;
  return result;
}

MeasureClient::MeasureClient(MeasureClientOptions options) : options_(std::move(options)) {
  // The link, not its target: it works on when the file is replaced (an upgrade) while this process runs.
  if (options_.worker_executable.empty()) options_.worker_executable = "/proc/self/exe";
}

void MeasureClient::stop() {
  if (process_) process_->kill(SIGKILL);
  channel_.reset();
  process_.reset();
  prepared_.clear();
}

void MeasureClient::drain_error() {
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(process_->error(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    error_text_.append(buffer, static_cast<std::size_t>(got));
  }
  // A sanitizer's headline comes first, so what is kept of a long report is its beginning and its end.
  if (error_text_.size() > 2 * kept_error_bytes) {
    error_text_.erase(kept_error_bytes, error_text_.size() - 2 * kept_error_bytes);
  }
}

MeasureClient::Answer MeasureClient::ask(const nlohmann::json& head, std::span<const std::byte> payload,
                                         milliseconds timeout) {
  const auto died = [&] {
    const auto status = process_->wait_for(milliseconds(2000));
    drain_error();
    const std::string lines = telling_lines(error_text_);
    Answer answer{Ending::died, "",
                  "the measuring process died: " + (status ? status->describe() : std::string("its pipe was closed"))};
    if (!lines.empty()) answer.error += "\n" + lines;
    stop();
    return answer;
  };
  error_text_.clear();
  if (!channel_->send(jit::pack_message(head, payload))) return died();
  const Clock::time_point deadline = Clock::now() + timeout;
  Answer answer;
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    if (give_up_ && give_up_()) {
      stop();
      return {Ending::given_up, "", ""};
    }
    if (left.count() <= 0) {
      stop();
      return {Ending::timed_out, "", fmt::format("no answer after {} ms; the process was killed", timeout.count())};
    }
    // Short waits, so that a talkative process does not block on its full standard error.
    const auto outcome = channel_->receive(answer.message, std::min(left, milliseconds(100)));
    drain_error();
    if (outcome == process::ReadOutcome::message) return answer;
    if (outcome == process::ReadOutcome::closed) return died();
  }
}

nlohmann::json MeasureClient::ask_surely(const nlohmann::json& head, std::span<const std::byte> payload,
                                         milliseconds timeout, const std::string& action) {
  const Answer answer = ask(head, payload, timeout);
  if (answer.ending == Ending::given_up) throw GivenUp();
  if (answer.ending != Ending::answered) fail(ErrorKind::device, "cannot {}: {}", action, answer.error);
  std::span<const std::byte> nothing;
  nlohmann::json json = jit::unpack_message(answer.message, nothing);
  if (!json.value("ok", false))
    fail(ErrorKind::device, "cannot {}: {}", action, json.value("error", "no reason given"));
  return json;
}

void MeasureClient::ensure_open() {
  if (process_) return;
  process::SubprocessOptions start;
  start.arguments = {options_.worker_executable.string(), "__measure-worker"};
  start.standard_error = process::Stdio::pipe;
  if (const char* sanitize = std::getenv("WAVETUNE_CPU_SANITIZE"); sanitize != nullptr && *sanitize != '\0') {
    start.environment = process::sanitizer_environment();
  }
  process_.emplace(start);
  channel_.emplace(process_->output(), process_->input());
  const int flags = ::fcntl(process_->error(), F_GETFL);
  (void)::fcntl(process_->error(), F_SETFL, flags | O_NONBLOCK);
  ++starts_;
  try {
    nlohmann::json head = {{"type", "open"}, {"device", options_.device}, {"index", options_.index}};
    std::span<const std::byte> reference;
    if (options_.external) {
      head["spec"] = options_.external->spec.string();
      head["source_hash"] = options_.external->source_hash;
      reference = options_.external->reference_code;
    }
    ask_surely(head, reference, options_.open_timeout,
               fmt::format("open device {} of '{}' in a measuring process", options_.index, options_.device));
    if (options_.checks)
      ask_surely({{"type", "checks"}}, *options_.checks, options_.open_timeout, "load the kernels that check operands");
  } catch (...) {
    stop();
    throw;
  }
}

void MeasureClient::ensure_prepared(const db::Problem& problem, std::uint64_t seed) {
  ensure_open();
  const std::string key = fmt::format("{} {}", seed, problem.key());
  if (prepared_ == key) return;
  const Clock::time_point begin = Clock::now();
  const nlohmann::json answer = ask_surely({{"type", "prepare"}, {"problem", problem.key()}, {"seed", seed}}, {},
                                           options_.prepare_timeout, "compute the reference of " + problem.key());
  prepared_ = key;
  // The wall clock runs from the first measurement on.
  if (first_begin_ != Clock::time_point{}) count(&Occupation::preparing_s, begin, answer.value("busy_us", 0.0));
  if (const auto note = answer.value("note", std::string()); !note.empty() && options_.warn) options_.warn(note);
}

void MeasureClient::count(double Occupation::*waited_for, Clock::time_point begin, double busy_us) {
  const double wall_s = std::chrono::duration<double>(Clock::now() - begin).count();
  occupation_.busy_s += busy_us * 1e-6;
  occupation_.*waited_for += std::max(0.0, wall_s - busy_us * 1e-6);
}

std::optional<nlohmann::json> MeasureClient::ask_to_measure(const nlohmann::json& head,
                                                            std::span<const std::byte> payload, milliseconds timeout,
                                                            MeasureResult& failed) {
  const Clock::time_point begin = Clock::now();
  if (first_begin_ == Clock::time_point{}) first_begin_ = begin;
  const Answer answer = ask(head, payload, timeout);
  last_end_ = Clock::now();
  if (answer.ending == Ending::given_up) throw GivenUp();
  if (answer.ending != Ending::answered) {
    failed.outcome = answer.ending == Ending::timed_out ? db::Outcome::timeout : db::Outcome::fault;
    failed.error = answer.error;
    // A kernel that hangs keeps the device busy until its process is killed.
    const bool busy = answer.ending == Ending::timed_out;
    count(&Occupation::trials_s, begin,
          busy ? std::chrono::duration<double, std::micro>(last_end_ - begin).count() : 0);
    return std::nullopt;
  }
  std::span<const std::byte> nothing;
  nlohmann::json json = jit::unpack_message(answer.message, nothing);
  if (json.value("leaves", false)) stop();
  double busy_us = 0;
  if (json.contains("result")) busy_us = json.at("result").value("busy_us", 0.0);
  for (const nlohmann::json& result : json.value("results", nlohmann::json::array()))
    busy_us += result.value("busy_us", 0.0);
  count(&Occupation::trials_s, begin, busy_us);
  if (json.value("ok", false)) return json;
  failed.outcome = db::Outcome::launch_error;
  failed.error = json.value("error", "no reason given");
  return std::nullopt;
}

MeasureResult MeasureClient::measure(const MeasureRequest& request) {
  // A process that was killed while idle is replaced without a word; one that dies of this configuration is not asked
  // again.
  if (process_ && !process_->running()) stop();
  ensure_prepared(request.problem, request.seed);
  MeasureResult result;
  const auto json = ask_to_measure({{"type", "measure"},
                                    {"config", db::to_text(request.config)},
                                    {"incumbent_us", request.incumbent_us},
                                    {"timing", timing_to_json(request.timing)}},
                                   request.code, options_.run_timeout, result);
  if (!json) return result;
  return result_from_json(json->at("result"));
}

std::optional<MeasureResult> MeasureClient::measure(const MeasureRequest& request,
                                                    const std::function<bool()>& give_up) {
  return unless_given_up(give_up, [&] { return measure(request); });
}

std::optional<std::vector<MeasureResult>> MeasureClient::contest(const ContestRequest& request,
                                                                 const std::function<bool()>& give_up) {
  return unless_given_up(give_up, [&] {
    if (process_ && !process_->running()) stop();
    ensure_prepared(request.problem, request.seed);
    nlohmann::json entries = nlohmann::json::array();
    std::vector<std::byte> code;
    for (const ContestEntry& entry : request.entries) {
      entries.push_back({{"config", db::to_text(entry.config)}, {"bytes", entry.code.size()}});
      code.insert(code.end(), entry.code.begin(), entry.code.end());
    }
    std::vector<MeasureResult> results(request.entries.size());
    const auto json = ask_to_measure(
        {{"type", "contest"}, {"entries", std::move(entries)}, {"timing", timing_to_json(request.timing)}}, code,
        options_.run_timeout * static_cast<int>(request.entries.size()), results.front());
    if (!json) {
      std::fill(results.begin() + 1, results.end(), results.front());
      return results;
    }
    for (std::size_t i = 0; i < results.size(); ++i) results[i] = result_from_json(json->at("results").at(i));
    return results;
  });
}

MeasureClient::Occupation& MeasureClient::Occupation::operator+=(const Occupation& other) {
  wall_s += other.wall_s;
  busy_s += other.busy_s;
  preparing_s += other.preparing_s;
  trials_s += other.trials_s;
  return *this;
}

MeasureClient::Occupation MeasureClient::occupation() const {
  Occupation occupation = occupation_;
  occupation.wall_s = std::chrono::duration<double>(last_end_ - first_begin_).count();
  return occupation;
}

bool MeasureClient::prepare_ahead(const db::Problem& problem, bool if_room, std::uint64_t seed) {
  ensure_open();
  return ask_surely({{"type", "prepare_ahead"}, {"problem", problem.key()}, {"seed", seed}, {"if_room", if_room}}, {},
                    options_.open_timeout, "begin to prepare " + problem.key())
      .value("ready", false);
}

DevicePeak MeasureClient::peak(std::span<const std::byte> code, const std::vector<PeakKernel>& kernels) {
  ensure_open();
  const nlohmann::json json = ask_surely({{"type", "peak"}, {"kernels", peak_kernels_to_json(kernels)}}, code,
                                         options_.prepare_timeout, "measure the device's peak rates");
  return peak_from_json(json.at("peak"));
}

}  // namespace wavetune::measure
