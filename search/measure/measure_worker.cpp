#include "search/measure/measure_worker.h"

#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "db/base/error.h"
#include "runtime/hip/handles.h"
#include "runtime/jit/packed_message.h"
#include "runtime/process/message_channel.h"
#include "search/measure/external_kernel.h"
#include "search/measure/peak_run.h"
#include "search/measure/verify_and_time.h"
#include "templates/registry.h"

namespace wavetune::measure {
namespace {

/// Answers requests. Heads are {"type": "open" | "prepare" | "measure" | "peak", ...}; answers have "ok", and "error"
/// when it is false. "open" may name a kernel from outside ("spec", "source_hash") with the code of its reference as
/// payload. "measure" carries the code object as payload; its answer says in "leaves" that the process ends now.
class Worker {
 public:
  explicit Worker(FindOperator find) : find_(std::move(find)) {}

  nlohmann::json answer(const nlohmann::json& request, std::span<const std::byte> payload) {
    const auto type = request.at("type").get<std::string>();
    if (type == "open") return open(request, payload);
    if (!provider_) fail(ErrorKind::internal, "'{}' before 'open'", type);
    if (type == "prepare") return prepare(request);
    if (type == "measure") return measure(request, payload);
    if (type == "peak") {
      return {{"ok", true},
              {"peak", peak_to_json(measure_peak(*provider_, device_, payload, peak_kernels_from_json(request)))}};
    }
    fail(ErrorKind::internal, "unknown request '{}'", type);
  }

  bool device_lost() const { return device_lost_; }

 private:
  nlohmann::json open(const nlohmann::json& request, std::span<const std::byte> payload) {
    if (request.contains("spec")) {
      external_ = load_external(request.at("spec").get<std::string>(), request.at("source_hash").get<std::string>());
      reference_code_.assign(payload.begin(), payload.end());
    }
    provider_ = hip::load_provider(hip::parse_device_spec(request.at("device").get<std::string>()));
    device_ = request.at("index").get<int>();
    const hip::Api& api = provider_->api();
    hip::check(api, api.hipSetDevice(device_), "hipSetDevice");
    return {{"ok", true}};
  }

  nlohmann::json prepare(const nlohmann::json& request) {
    prepared_.reset();
    const db::Problem problem = db::problem_from_key(request.at("problem").get<std::string>());
    const bool external = external_ && problem.op == external_->name();
    const templates::Operator& op = external ? *external_ : find_(problem.op);
    PreparedProblem prepared = prepare_problem(op, problem, request.at("seed").get<std::uint64_t>());
    if (external && external_->has_reference_kernel())
      run_reference(*provider_, device_, *external_, reference_code_, prepared);
    prepared_ = std::move(prepared);
    return {{"ok", true}};
  }

  nlohmann::json measure(const nlohmann::json& request, std::span<const std::byte> payload) {
    if (!prepared_) fail(ErrorKind::internal, "'measure' before 'prepare'");
    MeasureRequest wanted;
    wanted.problem = prepared_->problem;
    wanted.config = db::named_ints_from_text(request.at("config").get<std::string>());
    wanted.code = payload;
    wanted.incumbent_us = request.at("incumbent_us").get<double>();
    wanted.timing = timing_from_json(request.at("timing"));
    TrialRun run = verify_and_time(*provider_, device_, *prepared_, wanted);
    device_lost_ = run.device_lost;
    return {{"ok", true}, {"result", result_to_json(run.result)}, {"leaves", device_lost_}};
  }

  FindOperator find_;
  std::unique_ptr<const templates::SpecOperator> external_;
  std::vector<std::byte> reference_code_;
  std::shared_ptr<const hip::Provider> provider_;
  int device_ = 0;
  std::optional<PreparedProblem> prepared_;
  bool device_lost_ = false;
};

}  // namespace

int serve_measurements(FindOperator find) {
  process::MessageChannel channel(STDIN_FILENO, process::take_standard_output());
  Worker worker(std::move(find));
  std::string message;
  while (channel.receive(message) == process::ReadOutcome::message) {
    nlohmann::json answer;
    try {
      std::span<const std::byte> payload;
      const nlohmann::json request = jit::unpack_message(message, payload);
      answer = worker.answer(request, payload);
    } catch (const std::exception& error) {
      answer = {{"ok", false}, {"error", error.what()}};
    }
    if (!channel.send(jit::pack_message(answer))) break;
    // The driver starts another process; what this one would measure is not to be trusted.
    if (worker.device_lost()) ::_exit(1);
  }
  return 0;
}

int measure_worker_main(const std::vector<std::string>& arguments) {
  if (!arguments.empty()) fail(ErrorKind::usage, "__measure-worker takes no arguments; 'tune' starts it");
  return serve_measurements(
      [](std::string_view name) -> const templates::Operator& { return templates::get_operator(name); });
}

}  // namespace wavetune::measure
