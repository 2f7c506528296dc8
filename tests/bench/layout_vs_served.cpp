// What the layout planner predicts beside what the engine serves, for every TP x DP of this machine's devices under the
// same trace.
//
//     layout_vs_served [--model DIR] [--db FILE] [--device cpu:4] [--workload in=64,out=64,clients=16] [--rounds 3]
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "runtime/engine/engine_factory.h"
#include "runtime/process/subprocess.h"
#include "search/layout/load_sweep.h"
#include "search/layout/step_survey.h"
#include "search/measure/timing.h"

namespace wavetune {
namespace {

using namespace search;
using Clock = std::chrono::steady_clock;

/// Serves a trace in closed loops and notes what the simulator notes.
class Loops {
 public:
  Loops(engine::Engine& engine, const std::vector<TrafficRequest>& trace, int clients)
      : engine_(engine), trace_(trace), start_(Clock::now()) {
    run_.requests.resize(trace.size());
    for (int client = 0; client < clients; ++client) next();
  }

  SimulatedRun finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return answered_ == trace_.size(); });
    return std::move(run_);
  }

 private:
  double now() const { return std::chrono::duration<double, std::micro>(Clock::now() - start_).count(); }

  void next() {
    std::size_t index = 0;
    {
      const std::scoped_lock lock(mutex_);
      if (sent_ == trace_.size()) return;
      index = sent_++;
      run_.requests[index].arrival = now();
    }
    std::vector<std::int32_t> prompt(static_cast<std::size_t>(trace_[index].input));
    for (std::size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<std::int32_t>(1 + (index * 31 + i) % 100);
    engine::SamplingParams params{.temperature = 0, .max_tokens = trace_[index].output, .ignore_eos = true};
    engine_.submit(std::move(prompt), params, [this, index](const engine::TokenEvent& event) { took(index, event); });
  }

  void took(std::size_t index, const engine::TokenEvent& event) {
    {
      const std::scoped_lock lock(mutex_);
      ServedRequest& request = run_.requests[index];
      const double when = now();
      // The last token comes with the end, which is an event of its own only for stop tokens.
      if (request.output == 0 && !event.tokens.empty()) request.first_token = when;
      request.output += static_cast<std::int64_t>(event.tokens.size());
      if (!event.tokens.empty()) run_.tokens.push_back({when, static_cast<double>(event.tokens.size())});
      if (event.finish == engine::FinishReason::none) return;
      request.finish = when;
      ++answered_;
      changed_.notify_all();
    }
    next();
  }

  engine::Engine& engine_;
  const std::vector<TrafficRequest>& trace_;
  Clock::time_point start_;
  std::mutex mutex_;
  std::condition_variable changed_;
  SimulatedRun run_;
  std::size_t sent_ = 0, answered_ = 0;
};

struct Row {
  CandidateLayout layout;
  db::LoadPoint predicted;
  std::vector<double> served;
};

int run(const std::vector<std::string>& arguments) {
  namespace po = boost::program_options;
  po::options_description options("options");
  options.add_options()("model", po::value<std::string>()->default_value(WAVETUNE_SOURCE_DIR "/model/demo"),
                        "model folder")("db", po::value<std::string>(), "tuning database")(
      "device", po::value<std::string>()->default_value("cpu:4"), "devices")(
      "workload", po::value<std::string>()->default_value("in=64,out=64,clients=16"), "closed loops")(
      "rounds", po::value<int>()->default_value(3), "servings of each layout, interleaved");
  po::variables_map values;
  if (!parse_command_line({"layout_vs_served",
                           "layout_vs_served [options]",
                           "predicted beside served throughput",
                           {"layout_vs_served --db demo.db"}},
                          options, {}, arguments, values)) {
    return 0;
  }
  PlanOptions plan;
  plan.traffic = parse_traffic(values["workload"].as<std::string>());
  if (plan.traffic.clients.size() != 1) fail(ErrorKind::usage, "--workload needs clients=N");
  const int clients = plan.traffic.clients.front();
  const engine::EngineOptions defaults;
  plan.step_tokens = defaults.max_step_tokens;
  plan.max_sequences = defaults.max_sequences;

  SurveyOptions survey;
  survey.model_directory = values["model"].as<std::string>();
  survey.compile_worker = process::self_executable().parent_path().parent_path() / "wavetune";
  if (values.contains("db")) survey.database = values["db"].as<std::string>();
  const std::string spec = values["device"].as<std::string>();
  const std::shared_ptr<const hip::Provider> provider = hip::load_provider(hip::parse_device_spec(spec));
  const model::ModelConfig config = model::load_config(survey.model_directory);
  const int devices = static_cast<int>(provider->devices().size());
  Node node;
  node.devices = devices;
  node.name = provider->devices().front().name;
  node.memory_bytes = provider->devices().front().memory_bytes;

  std::vector<Row> rows;
  for (CandidateLayout& candidate : planned_candidates(plan, config, devices, {})) {
    if (!candidate.program) continue;
    const LayoutCosts costs = survey_steps(survey, provider, config, candidate.tp, candidate.dp, plan);
    const db::LoadPoint predicted = simulate_loads(node, plan, candidate, costs, plan.traffic).front();
    fmt::print("surveyed tp {} x dp {}: {:.1f} us beyond the operator in each launch\n", candidate.tp, candidate.dp,
               costs.gap_us);
    rows.push_back({std::move(candidate), predicted, {}});
  }
  const std::vector<TrafficRequest> trace =
      make_trace(plan.traffic, 0, static_cast<std::size_t>(std::max(20, 5 * clients)));
  for (int round = 0; round < values["rounds"].as<int>(); ++round) {
    for (Row& row : rows) {
      engine::EngineOptions serving;
      serving.model_directory = survey.model_directory;
      serving.database = survey.database;
      serving.device = spec;
      serving.tp = row.layout.tp;
      serving.dp = row.layout.dp;
      serving.compiler.worker_executable = survey.compile_worker;
      const engine::CreatedEngine created = engine::create_engine(serving);
      Loops warm_up(*created.engine, trace, clients);
      warm_up.finish();
      Loops loops(*created.engine, trace, clients);
      row.served.push_back(load_point(loops.finish(), plan.ttft_limit_s).tokens_per_s);
    }
  }
  fmt::print("\n{} on {}: {} clients, {}\n\n", config.name, spec, clients, plan.traffic.description());
  fmt::print("{:>4}{:>4}{:>18}{:>18}{:>12}\n", "tp", "dp", "predicted tok/s", "served tok/s", "ratio");
  const auto served = [](const Row& row) { return measure::median(row.served); };
  for (const Row& row : rows) {
    fmt::print("{:>4}{:>4}{:>18.0f}{:>18.0f}{:>12.2f}\n", row.layout.tp, row.layout.dp, row.predicted.tokens_per_s,
               served(row), row.predicted.tokens_per_s / served(row));
  }
  std::vector<const Row*> by_prediction, by_serving;
  for (const Row& row : rows) {
    by_prediction.push_back(&row);
    by_serving.push_back(&row);
  }
  std::ranges::sort(by_prediction, std::greater<>(), [](const Row* row) { return row->predicted.tokens_per_s; });
  std::ranges::sort(by_serving, std::greater<>(), [&](const Row* row) { return served(*row); });
  fmt::print("\norder predicted and served: {}\n", by_prediction == by_serving ? "the same" : "different");
  return 0;
}

}  // namespace
}  // namespace wavetune

int main(int argc, char** argv) {
  try {
    return wavetune::run({argv + 1, argv + argc});
  } catch (const wavetune::Error& error) {
    std::fprintf(stderr, "layout_vs_served: %s\n", error.what());
    return error.exit_code();
  }
}
