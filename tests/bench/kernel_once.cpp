// Every kernel family once, with little around it: for compute-sanitizer and other tools that watch a process. One
// small problem of each family and number format, on the default configuration and on one of each matrix path; each
// result is compared with the reference.
//
//     compute-sanitizer --tool memcheck  kernel_once --device cuda
//     compute-sanitizer --tool racecheck kernel_once --device cuda --op gemm,grouped_gemm
//
// Compilers run in processes of their own, which the sanitizer leaves alone. Exit code 1 when a result is wrong.
#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cstdio>
#include <future>
#include <map>
#include <random>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "runtime/hip/provider.h"
#include "runtime/jit/target.h"
#include "search/measure/candidate.h"
#include "search/measure/operand_pool.h"
#include "search/measure/prepared_problem.h"
#include "search/space/search_space.h"
#include "templates/registry.h"

namespace wavetune {
namespace {
namespace po = boost::program_options;

const char* const problem_keys[] = {
    "gemm/bf16/batch=1,k=1024,m=16,n=256",
    "gemm/bf16/batch=1,k=1024,m=200,n=256",
    "gemm/bf16_f32/batch=1,k=1024,m=16,n=256",
    "gemm/fp8_token/batch=1,k=1024,m=16,n=256",
    "gemm/fp8_token/batch=1,k=1024,m=200,n=256",
    "gemm/fp8_block/batch=1,k=1024,m=16,n=256",
    "gemm/bf16_mxfp4/batch=1,k=1024,m=16,n=256",
    "gemm/bf16_mxfp4/batch=1,k=1024,m=200,n=256",
    "gemm/fp8_mxfp4/batch=1,k=1024,m=16,n=256",
    "gemm/bf16/batch=4,k=192,m=5,n=512",
    "grouped_gemm/bf16/experts=16,k=512,m=16,n=256,swiglu=1,topk=4",
    "grouped_gemm/bf16/experts=16,k=256,m=16,n=512,swiglu=0,topk=4",
    "grouped_gemm/bf16_mxfp4/experts=16,k=512,m=16,n=256,swiglu=1,topk=4",
    "grouped_gemm/bf16_mxfp4/experts=16,k=256,m=16,n=512,swiglu=0,topk=4",
    "grouped_gemm/fp8_mxfp4/experts=16,k=512,m=16,n=256,swiglu=1,topk=4",
    "mla_attention/bf16/heads=16,latent=512,m=3,rope=64,slots=4096,topk=512",
    "quantize/fp8_token/k=1024,m=5",
    "quantize/fp8_block/k=1024,m=5",
    "quantize/mxfp4/k=1024,m=5",
    "all_reduce/bf16/m=4,n=6144,ranks=2",
    "cache_write/bf16/m=5,n=576,slots=1024",
    "embedding/bf16/m=5,n=6144,rows=1024",
    "indexer_scores/bf16/context=512,heads=32,m=5,n=128,page=16,pages=64,sequences=4,slots=4096",
    "layernorm/bf16/m=5,n=128,residual=0",
    "moe_combine/bf16/m=5,n=6144,topk=9",
    "moe_sort/i32/experts=257,m=5,topk=9",
    "rmsnorm/bf16/m=5,n=6144,residual=1",
    "rope/bf16/heads=16,m=5,n=64",
    "router/f32/experts=256,m=5,shared=1,topk=8",
    "sample/f32/m=3,n=19360,ranks=1",
    "silu_mul/bf16/m=5,n=3072",
    "topk_select/f32/context=1024,m=5,page=16,pages=64,sequences=4,topk=256",
};

/// The default configuration, and one of every other value of `path` that the space has.
std::vector<db::Config> configurations(const templates::Operator& op, const db::Problem& problem,
                                       const templates::DeviceLimits& limits) {
  std::vector<db::Config> configs{op.default_config(problem, limits)};
  const search::SearchSpace space(op.space(problem, limits));
  std::map<std::int64_t, bool> seen;
  const auto path_of = [](const db::Config& config) {
    const auto path = config.find("path");
    return path == config.end() ? std::int64_t{-1} : path->second;
  };
  seen[path_of(configs.front())] = true;
  std::mt19937_64 random(3);
  for (int attempt = 0; attempt < 2000 && space.size() > 0; ++attempt) {
    db::Config config = space.config(space.draw(random));
    if (path_of(config) < 0) break;
    if (std::exchange(seen[path_of(config)], true)) continue;
    configs.push_back(std::move(config));
  }
  return configs;
}

/// Runs one configuration and says how far it is from the reference. Without guard bands: each operand is an allocation
/// of its own, so that a tool sees where it ends.
templates::Comparison run(const hip::Provider& provider, const measure::PreparedProblem& prepared,
                          const db::Config& config, std::span<const std::byte> code) {
  measure::OperandPool pool(provider, prepared, {.guards = false});
  pool.arrange_for(config);
  const auto candidate = measure::load_candidate(provider, pool, config, code);
  candidate->enqueue();
  candidate->wait();
  if (const auto damage = candidate->damage()) return {2, *damage};
  return prepared.op->compare(prepared.problem, candidate->results().front(), prepared.expected);
}

struct Job {
  measure::PreparedProblem prepared;
  db::Config config;
  std::shared_future<jit::CompileResult> compiled;
};

int run_all(const std::string& device, const std::string& ops) {
  const auto provider = hip::load_provider(hip::parse_device_spec(device));
  const hip::DeviceInfo& first = provider->devices().front();
  jit::CompileService compiler(jit::CompileOptions{});
  const jit::CompileTarget target = jit::compile_target_of(*provider, device);
  std::vector<Job> jobs;
  for (const char* key : problem_keys) {
    const db::Problem problem = db::problem_from_key(key);
    if (!ops.empty() && ("," + ops + ",").find("," + problem.op + ",") == std::string::npos) continue;
    const templates::Operator& op = templates::get_operator(problem.op);
    try {
      const measure::PreparedProblem prepared = measure::prepare_problem(op, problem, 1);
      for (db::Config& config : configurations(op, problem, first.limits)) {
        auto compiled = compiler.submit(jit::request_for(target, op, problem, config));
        jobs.push_back({prepared, std::move(config), std::move(compiled)});
      }
    } catch (const Error& error) {
      fmt::print("skipped {}: {}\n", key, error.what());
    }
  }
  int failures = 0;
  for (const Job& job : jobs) {
    const jit::CompileResult& compiled = job.compiled.get();
    templates::Comparison comparison{2, std::string(db::to_string(compiled.outcome)) + ": " + compiled.log};
    if (compiled.outcome == db::Outcome::ok) comparison = run(*provider, job.prepared, job.config, compiled.code);
    failures += comparison.passes() ? 0 : 1;
    fmt::print("{} {} {}{}{}\n", comparison.passes() ? "ok   " : "WRONG", job.prepared.problem.key(),
               db::to_text(job.config), comparison.passes() ? "" : ": ", comparison.message);
    std::fflush(stdout);
  }
  fmt::print("{} configurations on {}, {} wrong\n", jobs.size(), first.name, failures);
  return failures > 0 ? 1 : 0;
}

int kernel_once(const std::vector<std::string>& args) {
  std::string device = "auto", ops;
  po::options_description options("Options");
  options.add_options()("device", po::value(&device)->default_value(device), "auto, hip, cuda or cpu")(
      "op", po::value(&ops), "only these operators");
  po::variables_map values;
  const CommandHelp help{"kernel_once",
                         "kernel_once [options]",
                         "Runs every kernel family once and compares the results.",
                         {"compute-sanitizer --tool memcheck kernel_once --device cuda"}};
  if (!parse_command_line(help, options, {}, args, values)) return 0;
  return run_all(device, ops);
}

}  // namespace
}  // namespace wavetune

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "__compile-worker") return wavetune::jit::compile_worker_main();
  try {
    return wavetune::kernel_once({argv + 1, argv + argc});
  } catch (const wavetune::Error& error) {
    fmt::print(stderr, "kernel_once: {}\n", error.what());
    return error.exit_code();
  }
}
