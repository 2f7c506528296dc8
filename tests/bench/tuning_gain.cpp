// What tuning gains: the tuned configuration against the median of its space, both re-measured in turns in one process,
// for GEMM, grouped GEMM and attention. Prints one table. Run by hand: build/release/tests/tuning_gain [DEVICE]
// [TRIALS] [SAMPLED]
//
// The median of the space is estimated from a random sample of valid configurations that were not chosen by the search.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "db/base/error.h"
#include "runtime/process/subprocess.h"
#include "search/driver/roofline.h"
#include "search/driver/tuner.h"
#include "search/measure/candidate.h"
#include "search/measure/measure_worker.h"
#include "search/measure/timing.h"
#include "search/strategy/strategy.h"
#include "templates/registry.h"

namespace wavetune {
namespace {

using namespace search;

const char* const problem_keys[] = {
    "gemm/f32/batch=1,k=512,m=1,n=1024",
    "gemm/f32/batch=1,k=512,m=64,n=512",
    "gemm/bf16/batch=1,k=512,m=16,n=512",
    "grouped_gemm/f32/experts=8,k=256,m=32,n=128,swiglu=1,topk=2",
    "grouped_gemm/bf16/experts=8,k=256,m=32,n=128,swiglu=1,topk=2",
    "mla_attention/f32/heads=8,latent=128,m=4,rope=32,slots=1024,topk=256",
    "mla_attention/bf16/heads=8,latent=128,m=16,rope=32,slots=1024,topk=256",
};

class Bench {
 public:
  Bench(std::string device, int trials, int sampled)
      : device_(std::move(device)),
        sampled_(sampled),
        provider_(hip::load_provider(hip::parse_device_spec(device_))),
        database_(db::Database::open(directory_.path() / "gain.db", db::OpenMode::create)),
        tuner_(options(trials), database_, *provider_),
        compiler_(jit::CompileOptions{}) {}

  /// Gain of the tuned configuration over the median of the sample; 0 when the problem has none of both.
  double run(const std::string& key) {
    const db::Problem problem = db::problem_from_key(key);
    const templates::Operator& op = templates::get_operator(problem.op);
    Reporter reporter(ReportStyle::quiet);
    tuner_.run({{&op, problem, 1}}, reporter);
    const auto winner = database_.winner(tuner_.environment(), problem);
    if (!winner) return 0;

    const measure::PreparedProblem prepared = measure::prepare_problem(op, problem, 1);
    std::vector<Loaded> candidates;
    if (auto best = load(prepared, winner->config)) candidates.push_back(std::move(*best));
    const auto space = std::make_shared<const SearchSpace>(op.space(problem, provider_->devices().front().limits));
    auto strategy = make_strategy("random", space, {.seed = 99});
    while (static_cast<int>(candidates.size()) <= sampled_) {
      const auto point = strategy->ask();
      if (!point) break;
      if (auto candidate = load(prepared, space->config(*point))) candidates.push_back(std::move(*candidate));
    }
    const std::vector<double> times = measure_in_turns(candidates);
    const double tuned = times.front();
    const std::vector<double> others(times.begin() + 1, times.end());
    const double middle = measure::median(others);
    const double roofline = roofline_us(op.cost(problem), tuner_.peak(), problem.dtype);
    fmt::print("{:<72} {:>8} {:>11.4g} {:>11.4g} {:>7.2f}x {:>11.3g} {:>7.0f}%\n", key, others.size(), middle, tuned,
               middle / tuned, roofline, 100 * roofline / tuned);
    std::fflush(stdout);
    return middle / tuned;
  }

 private:
  TunerOptions options(int trials) const {
    TunerOptions tuning;
    tuning.device = device_;
    tuning.trials = trials;
    return tuning;
  }

  /// With operands of its own.
  struct Loaded {
    std::unique_ptr<measure::OperandPool> operands;
    std::unique_ptr<measure::Candidate> candidate;
  };

  /// Nothing when it does not compile or the device cannot run it.
  std::optional<Loaded> load(const measure::PreparedProblem& prepared, const db::Config& config) {
    const auto compiled = compiler_.compile(
        {device_, provider_->prelude() + templates::kernel_source(*prepared.op, prepared.problem, config),
         provider_->compile_options(provider_->devices().front())});
    if (compiled.outcome != db::Outcome::ok) return std::nullopt;
    Loaded loaded{std::make_unique<measure::OperandPool>(*provider_, prepared, measure::PoolOptions{}), nullptr};
    loaded.operands->arrange_for(config);
    loaded.candidate = measure::load_candidate(*provider_, *loaded.operands, config, compiled.code);
    if (loaded.candidate->over_limits()) return std::nullopt;
    return loaded;
  }

  /// Medians; each round measures all, so that a change of the machine's speed hits all alike.
  std::vector<double> measure_in_turns(std::vector<Loaded>& candidates) {
    std::vector<std::vector<double>> samples(candidates.size());
    for (Loaded& loaded : candidates) loaded.candidate->timed(1);
    for (int round = 0; round < 15; ++round) {
      for (std::size_t i = 0; i < candidates.size(); ++i) samples[i].push_back(candidates[i].candidate->timed(5) / 5);
    }
    std::vector<double> medians;
    for (const auto& of_one : samples) medians.push_back(measure::median(of_one));
    return medians;
  }

  std::string device_;
  int sampled_;
  process::TemporaryDirectory directory_{"wavetune-gain"};
  std::shared_ptr<const hip::Provider> provider_;
  db::Database database_;
  Tuner tuner_;
  jit::CompileService compiler_;
};

int bench(int argc, char** argv) {
  const std::string device = argc > 1 ? argv[1] : "cpu";
  const int trials = argc > 2 ? std::atoi(argv[2]) : 48;
  const int sampled = argc > 3 ? std::atoi(argv[3]) : 24;
  Bench gain(device, trials, sampled);
  fmt::print("{:<72} {:>8} {:>11} {:>11} {:>8} {:>11} {:>8}\n", "problem", "sampled", "median us", "tuned us", "gain",
             "roofline us", "of it");
  std::map<std::string, std::vector<double>> logs;
  for (const char* key : problem_keys) {
    const double factor = gain.run(key);
    if (factor > 0) logs[db::problem_from_key(key).op].push_back(std::log(factor));
  }
  double sum = 0;
  for (const auto& [op, values] : logs) {
    double of_op = 0;
    for (double value : values) of_op += value / static_cast<double>(values.size());
    fmt::print("{:<72} geometric mean {:.2f}x\n", op, std::exp(of_op));
    sum += of_op / static_cast<double>(logs.size());
  }
  fmt::print("{:<72} geometric mean {:.2f}x\n", "all three", std::exp(sum));
  return 0;
}

}  // namespace
}  // namespace wavetune

int main(int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "";
  try {
    if (word == "__compile-worker") return wavetune::jit::compile_worker_main();
    if (word == "__measure-worker") return wavetune::measure::measure_worker_main({});
    return wavetune::bench(argc, argv);
  } catch (const wavetune::Error& error) {
    fmt::print(stderr, "tuning_gain: {}\n", error.what());
    return error.exit_code();
  }
}
