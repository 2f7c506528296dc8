#include "search/layout/step_survey.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <exception>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "runtime/engine/executor.h"
#include "runtime/engine/tuning_source.h"
#include "runtime/kernels/coverage.h"
#include "runtime/kernels/weight_orders.h"
#include "search/measure/launch_timer.h"
#include "search/measure/timing.h"

namespace wavetune::search {
namespace {

using Clock = std::chrono::steady_clock;

/// A step to be timed: sequences that decode one token, then tokens of a prompt.
struct Step {
  std::int64_t decoding = 1;
  std::int64_t prefill = 0;
};

/// Decoding batches in powers of two, and steps that prompts fill up to the budget and to parts of it.
std::vector<Step> surveyed_steps(const engine::ExecutorOptions& limits) {
  std::vector<Step> steps;
  const std::int64_t most = std::min(limits.max_sequences, limits.max_step_tokens);
  for (std::int64_t batch = 1; batch < most; batch *= 2) steps.push_back({batch, 0});
  steps.push_back({most, 0});
  std::set<std::int64_t> totals;
  for (std::int64_t total = limits.max_step_tokens; total > most; total /= 2) totals.insert(total);
  for (const std::int64_t total : totals) steps.push_back({1, total - 1});
  return steps;
}

/// Fills a step with made-up sequences. The cache holds whatever it holds: no kernel's time depends on its values
/// beyond which slots are selected.
class StepMaker {
 public:
  StepMaker(const engine::ExecutorOptions& limits, const Traffic& traffic) : limits_(limits), traffic_(traffic) {}

  engine::StepInput make(const Step& wanted) const {
    engine::StepInput step;
    std::int32_t row = 0;
    const std::int64_t longest = traffic_.input + traffic_.output;
    for (std::int64_t i = 0; i < wanted.decoding; ++i) {
      add(step, row++, i == 0 ? longest : traffic_.input + traffic_.output / 2, 1);
    }
    for (std::int64_t left = wanted.prefill; left > 0;) {
      const std::int64_t count = std::min(left, traffic_.input);
      add(step, row++, count, count);
      left -= count;
    }
    return step;
  }

 private:
  /// The last `count` of a sequence's tokens.
  void add(engine::StepInput& step, std::int32_t row, std::int64_t length, std::int64_t count) const {
    engine::Sequence sequence;
    sequence.row = row % static_cast<std::int32_t>(limits_.max_sequences);
    sequence.tokens.assign(static_cast<std::size_t>(length), 1);
    const std::int64_t pages = (length + limits_.page_size - 1) / limits_.page_size;
    const std::int64_t first_page = sequence.row * pages_of_a_sequence();
    for (std::int64_t page = 0; page < pages; ++page)
      sequence.pages.push_back(static_cast<std::int32_t>(first_page + page));
    const std::int64_t first = engine::append_tokens(step, sequence, length - count, count, limits_.page_size);
    if (step.samples() < limits_.max_samples)
      engine::append_sample(step, first + count - 1, {.temperature = 0}, length - 1);
  }
  std::int64_t pages_of_a_sequence() const { return limits_.pages / limits_.max_sequences; }

  const engine::ExecutorOptions& limits_;
  const Traffic& traffic_;
};

/// One group's part of the survey; only the first one's times are kept.
struct GroupTimes {
  std::map<db::Problem, double> operators;  ///< of one call
  std::vector<double> gaps;                 ///< of each kind of step, a launch
};

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

void time_step(engine::Executor& executor, const engine::StepInput& step, const hip::Api& api, int repeats,
               const std::function<void()>& meet, GroupTimes& times) {
  executor.step(step);  // plans, and on GPUs captures
  executor.step(step);
  std::vector<double> whole;
  for (int i = 0; i < repeats; ++i) {
    meet();
    const Clock::time_point start = Clock::now();
    executor.step(step);
    whole.push_back(us_since(start));
  }
  const model::Program& program = executor.program();
  const model::StepShape shape = executor.shape_of(step);
  std::map<db::Problem, std::vector<double>> samples;
  std::map<db::Problem, int> calls;
  for (int i = 0; i < repeats; ++i) {
    meet();
    measure::LaunchTimer timer(api);
    executor.step(step, &timer);
    for (const auto& [call, us] : timer.times()) {
      const db::Problem problem = call < 0 ? kernels::sampler_problem(program, shape.samples)
                                           : program.calls[static_cast<std::size_t>(call)].problem(shape);
      samples[problem].push_back(us);
      if (i == 0) ++calls[problem];
    }
  }
  double sum = 0;
  std::map<db::Problem, double> medians;
  int launches = 0;
  for (const auto& [problem, values] : samples) {
    medians[problem] = measure::median(values);
    sum += medians[problem] * calls[problem];
    launches += calls[problem];
  }
  const double step_us = measure::median(whole);
  const double scale = std::min(1.0, step_us / sum);
  for (const auto& [problem, us] : medians) times.operators[problem] = us * scale;
  times.gaps.push_back(std::max(0.0, step_us - sum) / launches);
}

}  // namespace

LayoutCosts survey_steps(const SurveyOptions& options, const std::shared_ptr<const hip::Provider>& provider,
                         const model::ModelConfig& config, int tp, int dp, const PlanOptions& plan) {
  const db::Environment environment = hip::environment_of(*provider, provider->devices().front());
  engine::TuningSource tuning = engine::open_tuning(options.database, environment, config.id, tp * dp);
  jit::CompileOptions compile;
  compile.worker_executable = options.compile_worker;
  jit::CompileService compiler(compile);
  kernels::KernelCache kernel_cache(provider, compiler, std::move(tuning.winners), kernels::UntunedPolicy::quiet,
                                    std::move(tuning.code));
  engine::ExecutorOptions limits;
  limits.max_step_tokens = plan.step_tokens;
  limits.max_sequences = plan.max_sequences;
  limits.max_samples = std::min(plan.max_sequences, plan.step_tokens);
  limits.page_size = plan.page_size;
  limits.max_context = kernels::context_buckets(plan.page_size, plan.traffic.input + plan.traffic.output).back();
  limits.pages = plan.max_sequences * (limits.max_context / plan.page_size);
  const model::Program program = model::build_program(config, {.tp = tp,
                                                               .page_size = static_cast<int>(plan.page_size),
                                                               .max_sequences = limits.max_sequences,
                                                               .max_context = limits.max_context});
  kernels::settle_weight_orders(program, provider->devices().front().limits, kernel_cache);
  const model::Checkpoint checkpoint = model::Checkpoint::open(options.model_directory);
  std::vector<std::unique_ptr<engine::Executor>> groups;
  for (int group = 0; group < dp; ++group) {
    limits.devices.clear();
    for (int rank = 0; rank < tp; ++rank) limits.devices.push_back(group * tp + rank);
    groups.push_back(std::make_unique<engine::Executor>(provider, kernel_cache, config, checkpoint, limits));
    groups.back()->prepare();
  }

  const StepMaker maker(limits, plan.traffic);
  std::barrier barrier(dp);
  std::vector<GroupTimes> times(groups.size());
  std::vector<std::exception_ptr> errors(groups.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t group = 0; group < groups.size(); ++group) {
      threads.emplace_back([&, group] {
        try {
          for (const Step& step : surveyed_steps(limits)) {
            time_step(
                *groups[group], maker.make(step), provider->api(), options.repeats,
                [&barrier] { barrier.arrive_and_wait(); }, times[group]);
          }
        } catch (...) {
          errors[group] = std::current_exception();
        }
        barrier.arrive_and_drop();  // the others go on without this group
      });
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  std::vector<ReferenceTime> operators;
  for (const auto& [problem, us] : times.front().operators) operators.push_back({problem, us, CostSource::measured});
  LayoutCosts costs{CostTable({}, {}, operators)};
  costs.gap_us = measure::median(times.front().gaps);
  costs.context = limits.max_context;
  return costs;
}

}  // namespace wavetune::search
