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
#include "search/measure/prepared_problems.h"
#include "search/measure/workbench.h"
#include "templates/registry.h"

namespace wavetune::measure {
namespace {

/// Answers requests. Heads are {"type": "open" | "checks" | "prepare" | "prepare_ahead" | "measure" | "contest" |
/// "peak",
/// ...}; answers have "ok", and "error" when it is false. "open" may name a kernel from outside ("spec", "source_hash")
/// with the code of its reference as payload; "checks" carries that of device_checks_source(). "measure" carries the
/// code object as payload, "contest" those of its entries one after the other; their answers say in "leaves" that the
/// process ends now.
class Worker {
 public:
  explicit Worker(FindOperator find) : find_(std::move(find)) {}

  nlohmann::json answer(const nlohmann::json& request, std::span<const std::byte> payload) {
    const auto type = request.at("type").get<std::string>();
    if (type == "open") return open(request, payload);
    if (!provider_) fail(ErrorKind::internal, "'{}' before 'open'", type);
    if (type == "prepare") return prepare(request);
    if (type == "prepare_ahead") return prepare_ahead(request);
    if (type == "measure") return measure(request, payload);
    if (type == "contest") return contest(request, payload);
    if (type == "checks") {
      bench_->use_checks(payload);
      return {{"ok", true}};
    }
    if (type == "peak") {
      return {{"ok", true},
              {"peak", peak_to_json(measure_peak(*provider_, device_, payload, peak_kernels_from_json(request)))}};
    }
    fail(ErrorKind::internal, "unknown request '{}'", type);
  }

  bool device_lost() const { return bench_ && bench_->device_lost(); }
  /// After an answer.
  void tidy_up() {
    if (bench_) bench_->tidy_up();
  }

 private:
  nlohmann::json open(const nlohmann::json& request, std::span<const std::byte> payload) {
    if (request.contains("spec")) {
      external_ = load_external(request.at("spec").get<std::string>(), request.at("source_hash").get<std::string>());
      reference_code_.assign(payload.begin(), payload.end());
    }
    provider_ = hip::load_provider(hip::parse_device_spec(request.at("device").get<std::string>()));
    bench_ = std::make_unique<Workbench>(*provider_, device_ = request.at("index").get<int>());
    return {{"ok", true}};
  }

  nlohmann::json prepare(const nlohmann::json& request) {
    const Wanted wanted = wanted_of(request);
    const Workbench::Selection selection = bench_->set_problem(problems_.get(wanted.name, [&] {
      PreparedProblem prepared = prepare_problem(*wanted.op, wanted.problem, wanted.seed, bench_->reference_on());
      arrange_inputs(prepared, limits());
      if (wanted.op == external_.get() && external_->has_reference_kernel())
        run_reference(*provider_, device_, *external_, reference_code_, prepared);
      return prepared;
    }));
    return {{"ok", true}, {"busy_us", selection.busy_us}, {"note", selection.note}};
  }

  nlohmann::json prepare_ahead(const nlohmann::json& request) {
    const Wanted wanted = wanted_of(request);
    // A kernel from outside brings its own reference, which is not run beside a measurement.
    if (wanted.op == external_.get()) return {{"ok", true}, {"ready", true}};
    const std::size_t bytes = input_bytes(*wanted.op, wanted.problem, limits());
    if (request.at("if_room").get<bool>() && !problems_.has_room_for(bytes)) return {{"ok", true}, {"ready", true}};
    problems_.prepare_ahead(
        wanted.name,
        [wanted, where = bench_->reference_on(), limits = limits()] {
          PreparedProblem prepared = prepare_problem(*wanted.op, wanted.problem, wanted.seed, where);
          arrange_inputs(prepared, limits);
          return prepared;
        },
        bytes);
    return {{"ok", true}, {"ready", problems_.ready(wanted.name)}};
  }

  const templates::DeviceLimits& limits() const {
    return provider_->devices()[static_cast<std::size_t>(device_)].limits;
  }

  struct Wanted {
    std::string name;
    const templates::Operator* op;
    db::Problem problem;
    std::uint64_t seed;
  };
  Wanted wanted_of(const nlohmann::json& request) const {
    const auto key = request.at("problem").get<std::string>();
    const auto seed = request.at("seed").get<std::uint64_t>();
    db::Problem problem = db::problem_from_key(key);
    const bool external = external_ && problem.op == external_->name();
    const templates::Operator* op = external ? external_.get() : &find_(problem.op);
    return {fmt::format("{} {}", seed, key), op, std::move(problem), seed};
  }

  const PreparedProblem& problem() const {
    if (bench_->problem() == nullptr) fail(ErrorKind::internal, "a measurement before 'prepare'");
    return *bench_->problem();
  }

  nlohmann::json measure(const nlohmann::json& request, std::span<const std::byte> payload) {
    MeasureRequest wanted;
    wanted.problem = problem().problem;
    wanted.config = db::named_ints_from_text(request.at("config").get<std::string>());
    wanted.code = payload;
    wanted.incumbent_us = request.at("incumbent_us").get<double>();
    wanted.timing = timing_from_json(request.at("timing"));
    const MeasureResult result = bench_->measure(wanted);
    return {{"ok", true}, {"result", result_to_json(result)}, {"leaves", device_lost()}};
  }

  nlohmann::json contest(const nlohmann::json& request, std::span<const std::byte> payload) {
    ContestRequest wanted;
    wanted.problem = problem().problem;
    wanted.timing = timing_from_json(request.at("timing"));
    for (const nlohmann::json& entry : request.at("entries")) {
      const auto bytes = entry.at("bytes").get<std::size_t>();
      if (bytes > payload.size()) fail(ErrorKind::internal, "'contest' with too little code");
      wanted.entries.push_back({db::named_ints_from_text(entry.at("config").get<std::string>()), payload.first(bytes)});
      payload = payload.subspan(bytes);
    }
    nlohmann::json results = nlohmann::json::array();
    for (const MeasureResult& result : bench_->contest(wanted)) results.push_back(result_to_json(result));
    return {{"ok", true}, {"results", std::move(results)}, {"leaves", device_lost()}};
  }

  FindOperator find_;
  std::unique_ptr<const templates::SpecOperator> external_;
  std::vector<std::byte> reference_code_;
  std::shared_ptr<const hip::Provider> provider_;
  int device_ = 0;
  PreparedProblems problems_{usual_problem_bytes()};
  std::unique_ptr<Workbench> bench_;
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
    worker.tidy_up();
  }
  return 0;
}

int measure_worker_main(const std::vector<std::string>& arguments) {
  if (!arguments.empty()) fail(ErrorKind::usage, "__measure-worker takes no arguments; 'tune' starts it");
  return serve_measurements(
      [](std::string_view name) -> const templates::Operator& { return templates::get_operator(name); });
}

}  // namespace wavetune::measure
