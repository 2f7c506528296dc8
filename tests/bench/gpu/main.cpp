// Tuned kernels against the roofline and against what a user would run instead, in one run: our time and the peer's are
// taken in turns, each as the median of graph replays over rotated operands.
//
//     gpu --db tune.db --device cuda [--op gemm,...] [--format bf16,...] [--m 1,16,...] [--rounds 5] [--json FILE]
//
// The peer is tests/bench/gpu_peer.py (PyTorch, Triton); where it cannot run, the table has ours and the roofline
// alone.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <future>
#include <set>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "db/database.h"
#include "operand_data.h"
#include "peer.h"
#include "rotated_runs.h"
#include "row.h"
#include "runtime/jit/target.h"
#include "search/driver/device_peaks.h"
#include "search/driver/roofline.h"
#include "search/layout/workload_options.h"
#include "search/measure/measure_worker.h"
#include "search/measure/timing.h"
#include "templates/registry.h"

namespace wavetune::gpu_bench {
namespace {
namespace po = boost::program_options;

struct Options {
  std::string database, device = "auto", ops = "gemm,grouped_gemm,mla_attention",
                        formats = "bf16,bf16_f32,fp8_token,bf16_mxfp4,fp8_mxfp4", ms, json;
  std::string peer = WAVETUNE_SOURCE_DIR "/tests/bench/gpu_peer.py";
  int rounds = 5, replays = 9;
  double peer_seconds = 0;  ///< 0: no limit
};

/// Dense products that PyTorch has, and experts in every format.
bool has_peer(const db::Problem& problem) {
  if (problem.op == "grouped_gemm") return true;
  return problem.op == "gemm" &&
         (problem.dtype == "bf16" || problem.dtype == "bf16_f32" || problem.dtype == "fp8_token");
}

std::set<std::string> words(const std::string& list) {
  const std::vector<std::string> all = search::split_list(list);
  return {all.begin(), all.end()};
}

/// The winners asked for, in the order of the table: by operator, format, shape, and then m.
std::vector<db::Winner> winners(const db::Database& database, const db::Environment& environment,
                                const Options& options) {
  const auto ops = words(options.ops), formats = words(options.formats), ms = words(options.ms);
  std::vector<db::Winner> result;
  for (db::Winner& winner : database.winners(environment)) {
    const db::Problem& problem = winner.problem;
    if (!ops.contains(problem.op) || !formats.contains(problem.dtype)) continue;
    if (!ms.empty() && !ms.contains(std::to_string(problem.dim_or("m", 0)))) continue;
    result.push_back(std::move(winner));
  }
  const auto key = [](const db::Winner& winner) {
    db::Problem problem = winner.problem;
    const std::int64_t m = problem.dim_or("m", 0);
    problem.dims["m"] = 0;
    return std::pair(problem, m);
  };
  std::ranges::sort(result, {}, key);
  return result;
}

nlohmann::json peer_request(const db::Problem& problem, const OperandData& data) {
  nlohmann::json request{{"do", "prepare"}, {"op", problem.op}, {"format", problem.dtype}};
  for (const auto& [name, value] : problem.dims) request[name] = value;
  if (!data.order.empty()) {
    request["order"] = data.order;
    request["offsets"] = data.offsets;
  }
  return request;
}

class Bench {
 public:
  explicit Bench(Options options)
      : options_(std::move(options)),
        provider_(hip::load_provider(hip::parse_device_spec(options_.device))),
        database_(db::Database::open(options_.database, db::OpenMode::read_only)),
        compiler_(jit::CompileOptions{}) {}

  void run() {
    const hip::DeviceInfo& device = provider_->devices().front();
    const std::vector<db::Winner> chosen = winners(database_, hip::environment_of(*provider_, device), options_);
    if (chosen.empty()) {
      fail(ErrorKind::not_found,
           "{} has no winners for {} with these operators, formats and m; run `wavetune tune` there", options_.database,
           device.name);
    }
    std::vector<std::shared_future<jit::CompileResult>> compiled;
    const jit::CompileTarget target = jit::compile_target_of(*provider_, options_.device);
    for (const db::Winner& winner : chosen) {
      const templates::Operator& op = templates::get_operator(winner.problem.op);
      compiled.push_back(compiler_.submit(jit::request_for(target, op, winner.problem, winner.config)));
    }
    start_peer();
    measure_peaks();
    std::fputs(header().c_str(), stdout);
    for (std::size_t i = 0; i < chosen.size(); ++i) one(chosen[i], compiled[i].get());
    std::fputs(("\n" + summary(rows_)).c_str(), stdout);
  }

 private:
  void start_peer() {
    std::string about = "not asked for";
    if (options_.peer != "none") peer_ = Peer::start(options_.peer, about);
    fmt::print("{}; peer: {}{}\n", provider_->devices().front().name, peer_ ? "" : "none, ", about);
  }

  /// Of simple kernels, and of the peer's largest products where those reach more.
  void measure_peaks() {
    measure::MeasureClientOptions client_options;
    client_options.device = options_.device;
    measure::MeasureClient client(client_options);
    peak_ = search::device_peaks(*provider_, options_.device, compiler_, client);
    for (const auto& [rate, format] : {std::pair("bf16", "bf16"), std::pair("fp8", "fp8_token")}) {
      if (!peer_) break;
      const nlohmann::json answer = peer_->ask({{"do", "peak"}, {"format", format}});
      if (answer.value("ok", false))
        peak_.flops_per_us[rate] = std::max(peak_.flops_per_us[rate], answer.value("flops_per_us", 0.0));
    }
    fmt::print("measured: copy {:.2f} TB/s (read and written)", peak_.bytes_per_us / 1e6);
    for (const auto& [rate, flops] : peak_.flops_per_us) fmt::print(", {} {:.0f} TFLOP/s", rate, flops / 1e6);
    fmt::print("\n\n");
    std::fflush(stdout);
  }

  void one(const db::Winner& winner, const jit::CompileResult& compiled) {
    const db::Problem& problem = winner.problem;
    try {
      if (compiled.outcome != db::Outcome::ok)
        fail(ErrorKind::device, "{}: {}", db::to_string(compiled.outcome), compiled.log.substr(0, 300));
      const templates::Operator& op = templates::get_operator(problem.op);
      const OperandData data = operand_data(op, problem);
      Row row;
      row.problem = problem;
      row.needed_bytes = data.needed_bytes;
      row.flops = op.cost(problem).flops;
      row.byte_us = row.needed_bytes / peak_.bytes_per_us;
      const double rate = search::flops_per_us(peak_, problem.dtype);
      row.flop_us = rate > 0 ? row.flops / rate : 0;
      RotatedRuns ours(*provider_, data.prepared, winner.config, compiled.code);
      in_turns(ours, peer_request(problem, data), row);
      std::fputs(line(row).c_str(), stdout);
      if (!options_.json.empty()) std::ofstream(options_.json, std::ios::app) << to_json(row).dump() << "\n";
      rows_.push_back(std::move(row));
    } catch (const Error& error) {
      fmt::print("{}: {}\n", problem.key(), error.what());
    }
    std::fflush(stdout);
  }

  /// A change of the clock hits both sides alike: each round measures both.
  void in_turns(RotatedRuns& ours, const nlohmann::json& request, Row& row) {
    bool compared = false;
    const bool late = options_.peer_seconds > 0 && peer_spent_ > options_.peer_seconds;
    if (late && has_peer(row.problem)) row.peer_name = "its time is spent";
    const auto begin = std::chrono::steady_clock::now();
    const bool asked = peer_ && !late && has_peer(row.problem);
    if (asked) {
      const nlohmann::json answer = peer_->ask(request);
      compared = answer.value("ok", false);
      row.peer_name = compared ? answer.value("name", "") : answer.value("error", "");
    }
    std::vector<double> our_times, peer_times;
    for (int round = 0; round < options_.rounds; ++round) {
      our_times.push_back(ours.measure(options_.replays));
      if (!compared) continue;
      const nlohmann::json answer = peer_->ask({{"do", "measure"}});
      if (answer.value("ok", false))
        peer_times.push_back(answer.value("us", 0.0));
      else
        row.peer_name = answer.value("error", "");
    }
    row.ours_us = measure::median(our_times);
    if (!peer_times.empty()) row.peer_us = measure::median(peer_times);
    if (asked) peer_->ask({{"do", "release"}});
    if (asked) peer_spent_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  Options options_;
  std::shared_ptr<const hip::Provider> provider_;
  db::Database database_;
  jit::CompileService compiler_;
  std::unique_ptr<Peer> peer_;
  double peer_spent_ = 0;  ///< seconds
  measure::DevicePeak peak_;
  std::vector<Row> rows_;
};

int bench(const std::vector<std::string>& args) {
  Options options;
  po::options_description described("Options");
  described.add_options()("db", po::value(&options.database)->required(), "tuning database")(
      "device", po::value(&options.device)->default_value(options.device), "auto, hip, cuda or cpu")(
      "op", po::value(&options.ops)->default_value(options.ops), "operators")(
      "format", po::value(&options.formats)->default_value(options.formats), "number formats")(
      "m", po::value(&options.ms), "only these numbers of rows")(
      "rounds", po::value(&options.rounds)->default_value(options.rounds), "measurements of each side, in turns")(
      "replays", po::value(&options.replays)->default_value(options.replays), "graph replays of one measurement")(
      "peer-seconds", po::value(&options.peer_seconds)->default_value(0),
      "shapes after so many seconds with the peer are measured without it; 0: all with it")(
      "json", po::value(&options.json), "append a JSON object a shape to this file")(
      "peer", po::value(&options.peer)->default_value(options.peer), "script of the peer process, or none");
  po::variables_map values;
  const CommandHelp help{"gpu",
                         "gpu --db FILE [options]",
                         "Tuned kernels beside the roofline and beside cuBLASLt and Triton, measured in turns.",
                         {"gpu --db tune.db --device cuda --m 1,16,64"}};
  if (!parse_command_line(help, described, {}, args, values)) return 0;
  Bench(std::move(options)).run();
  return 0;
}

}  // namespace
}  // namespace wavetune::gpu_bench

int main(int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "";
  try {
    if (word == "__compile-worker") return wavetune::jit::compile_worker_main();
    if (word == "__measure-worker") return wavetune::measure::measure_worker_main({});
    return wavetune::gpu_bench::bench({argv + 1, argv + argc});
  } catch (const wavetune::Error& error) {
    fmt::print(stderr, "gpu: {}\n", error.what());
    return error.exit_code();
  }
}
