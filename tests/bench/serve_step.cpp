// Where the time of a step goes: per operator, with the share of the roofline that each reaches.
//
//     serve_step [--model DIR] [--db FILE] [--device cpu] [--tokens 1] [--context 64] [--repeat 20]
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <chrono>
#include <cstdio>
#include <map>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "runtime/engine/executor.h"
#include "runtime/jit/compile_service.h"
#include "runtime/kernels/coverage.h"
#include "runtime/process/subprocess.h"
#include "search/measure/launch_timer.h"
#include "templates/registry.h"

namespace wavetune {
namespace {

using Clock = std::chrono::steady_clock;

/// `tokens` sequences that each decode one token behind `context` - 1 earlier ones. The cache holds zeros: the time of
/// no kernel depends on its values beyond which slots are selected.
engine::StepInput decode_step(const engine::ExecutorOptions& options, std::int64_t tokens, std::int64_t context) {
  engine::StepInput step;
  std::int32_t next_page = 0;
  for (std::int64_t row = 0; row < tokens; ++row) {
    engine::Sequence sequence;
    sequence.row = static_cast<std::int32_t>(row);
    sequence.tokens.assign(static_cast<std::size_t>(context), static_cast<std::int32_t>(1 + row % 100));
    while (static_cast<std::int64_t>(sequence.pages.size()) * options.page_size < context)
      sequence.pages.push_back(next_page++);
    const std::int64_t first = engine::append_tokens(step, sequence, context - 1, 1, options.page_size);
    engine::append_sample(step, first, {.temperature = 0}, context);
  }
  return step;
}

struct Row {
  int calls = 0;
  double microseconds = 0;
  double roofline_microseconds = 0;
};

/// Peak numbers that the device can be held against, measured here: a large copy, and a large GEMM's best is not known,
/// so compute-bound operators are held against the memory roofline only.
double copy_bytes_per_microsecond(const hip::Api& api) {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  const hip::DeviceBuffer from(api, bytes), to(api, bytes);
  const hip::Stream stream = hip::make_stream(api);
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const Clock::time_point start = Clock::now();
    hip::check(api, api.hipMemcpyAsync(to.get(), from.get(), bytes, hipMemcpyDeviceToDevice, stream.get()),
               "hipMemcpyAsync");
    hip::check(api, api.hipStreamSynchronize(stream.get()), "hipStreamSynchronize");
    const double microseconds = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    best = std::max(best, 2.0 * static_cast<double>(bytes) / microseconds);
  }
  return best;
}

int run(const std::vector<std::string>& arguments) {
  namespace po = boost::program_options;
  po::options_description options("options");
  options.add_options()("model", po::value<std::string>()->default_value(WAVETUNE_SOURCE_DIR "/model/demo"),
                        "model folder")("db", po::value<std::string>(), "tuning database")(
      "device", po::value<std::string>()->default_value("cpu"), "device")(
      "tokens", po::value<std::int64_t>()->default_value(1), "sequences that decode in the step")(
      "context", po::value<std::int64_t>()->default_value(64), "tokens of each sequence")(
      "repeat", po::value<int>()->default_value(20), "steps measured");
  po::variables_map values;
  if (!parse_command_line(
          {"serve_step", "serve_step [options]", "times the operators of a decode step", {"serve_step"}}, options, {},
          arguments, values)) {
    return 0;
  }
  const std::int64_t tokens = values["tokens"].as<std::int64_t>(), context = values["context"].as<std::int64_t>();
  const std::string folder = values["model"].as<std::string>();
  const auto provider = hip::load_provider(hip::parse_device_spec(values["device"].as<std::string>()));
  const db::Environment environment = hip::environment_of(*provider, provider->devices().front());
  std::optional<db::Database> database;
  if (values.contains("db")) database = db::Database::open(values["db"].as<std::string>(), db::OpenMode::read_only);
  jit::CompileOptions compile_options;
  compile_options.worker_executable = process::self_executable().parent_path().parent_path() / "wavetune";
  jit::CompileService compiler(compile_options);
  kernels::KernelCache kernel_cache(provider, compiler,
                                    kernels::WinnerIndex(database ? &*database : nullptr, environment),
                                    kernels::UntunedPolicy::quiet);

  engine::ExecutorOptions executor_options;
  executor_options.max_step_tokens = tokens;
  executor_options.max_samples = tokens;
  executor_options.max_sequences = tokens;
  executor_options.max_context = context;
  executor_options.pages = tokens * ((context + executor_options.page_size - 1) / executor_options.page_size);
  const model::ModelConfig config = model::load_config(folder);
  engine::Executor executor(provider, kernel_cache, config, model::Checkpoint::open(folder), executor_options);
  const engine::StepInput step = decode_step(executor.options(), tokens, context);
  const model::StepShape shape = executor.shape_of(step);
  executor.step(step);

  const int repeat = values["repeat"].as<int>();
  std::vector<double> steps;
  for (int i = 0; i < repeat; ++i) {
    const Clock::time_point start = Clock::now();
    executor.step(step);
    steps.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::sort(steps.begin(), steps.end());
  const double bandwidth = copy_bytes_per_microsecond(provider->api());

  std::map<std::string, Row> rows;
  double launches = 0;
  for (int i = 0; i < repeat; ++i) {
    measure::LaunchTimer timer(provider->api());
    executor.step(step, &timer);
    for (const auto& [call, microseconds] : timer.times()) {
      const model::Program& program = executor.program();
      const db::Problem problem = call < 0 ? kernels::sampler_problem(program, shape.samples)
                                           : program.calls[static_cast<std::size_t>(call)].problem(shape);
      Row& row = rows[problem.op];
      ++row.calls;
      row.microseconds += microseconds;
      row.roofline_microseconds += templates::get_operator(problem.op).cost(problem).bytes / bandwidth;
      ++launches;
    }
  }
  fmt::print("{}: step of {} token(s) at context {} on {}: median {:.0f} us ({:.1f} tokens/s), {:.0f} calls\n",
             config.name, tokens, shape.context, provider->devices().front().name, steps[steps.size() / 2],
             1e6 * static_cast<double>(tokens) / steps[steps.size() / 2], launches / repeat);
  fmt::print("copy bandwidth {:.1f} GB/s; a share is the time to move the operator's bytes at that rate / its time\n\n",
             bandwidth / 1e3);
  fmt::print("{:<18}{:>8}{:>12}{:>12}{:>12}\n", "op", "calls", "total us", "us a call", "roofline");
  std::vector<std::pair<std::string, Row>> sorted(rows.begin(), rows.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.second.microseconds > b.second.microseconds; });
  double total = 0;
  for (const auto& [op, row] : sorted) {
    total += row.microseconds / repeat;
    fmt::print("{:<18}{:>8}{:>12.1f}{:>12.1f}{:>11.1f}%\n", op, row.calls / repeat, row.microseconds / repeat,
               row.microseconds / row.calls, 100 * row.roofline_microseconds / row.microseconds);
  }
  fmt::print("{:<18}{:>8}{:>12.1f}\n", "all", "", total);
  return 0;
}

}  // namespace
}  // namespace wavetune

int main(int argc, char** argv) {
  try {
    return wavetune::run({argv + 1, argv + argc});
  } catch (const wavetune::Error& error) {
    std::fprintf(stderr, "serve_step: %s\n", error.what());
    return error.exit_code();
  }
}
