#include "runtime/server/metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace wavetune::server {
namespace {

// vLLM's buckets (v1/metrics/loggers.py), so that dashboards made for it fit.
constexpr double first_token_bounds[] = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
                                         1,     2.5,   5,    7.5,  10,   20,   40,   80,  160,  640, 2560};
constexpr double token_bounds[] = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
                                   0.75, 1,     2.5,  5,     7.5, 10,   20,  40,  80};
constexpr double request_bounds[] = {0.3, 0.5, 0.8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                     30,  40,  50,  60, 120, 240, 480, 960, 1920, 7680};
constexpr double count_bounds[] = {1,    2,    5,     10,    20,    50,     100,    200,    500,    1000,
                                   2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000, 1000000};

/// `text` as a label value.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string type_line(const std::string& name, const char* type, const char* help) {
  return fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

}  // namespace

Histogram::Histogram(std::span<const double> bounds)
    : bounds_(bounds.begin(), bounds.end()), counts_(bounds.size() + 1, 0) {}

void Histogram::observe(double value) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value);
  ++counts_[static_cast<size_t>(bucket - bounds_.begin())];
  sum_ += value;
}

std::string Histogram::text(const std::string& name, const std::string& labels) const {
  std::string lines;
  std::int64_t below = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    const std::string bound = i < bounds_.size() ? fmt::format("{}", bounds_[i]) : "+Inf";
    lines += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, bound, below);
  }
  return lines + fmt::format("{0}_sum{{{1}}} {2}\n{0}_count{{{1}}} {3}\n", name, labels, sum_, below);
}

Metrics::Metrics()
    : first_token_(first_token_bounds),
      inter_token_(token_bounds),
      per_output_token_(token_bounds),
      total_(request_bounds),
      prompt_tokens_(count_bounds),
      completion_tokens_(count_bounds) {}

void Metrics::count_response(int status) {
  const std::scoped_lock lock(mutex_);
  ++responses_[static_cast<size_t>(std::clamp(status / 100, 0, 5))];
}

void Metrics::count_finish(Finish finish, const ChoiceTimes& times) {
  const std::scoped_lock lock(mutex_);
  ++finished_[static_cast<size_t>(finish)];
  first_token_.observe(times.first_token);
  total_.observe(times.total);
  prompt_tokens_.observe(static_cast<double>(times.prompt_tokens));
  completion_tokens_.observe(static_cast<double>(times.completion_tokens));
  if (times.completion_tokens > 1) {
    per_output_token_.observe((times.total - times.first_token) / static_cast<double>(times.completion_tokens - 1));
  }
}

void Metrics::observe_inter_token(double seconds, std::int64_t tokens) {
  const std::scoped_lock lock(mutex_);
  for (std::int64_t i = 0; i < tokens; ++i) inter_token_.observe(seconds / static_cast<double>(tokens));
}

std::string Metrics::text(const std::string& model, const engine::EngineStats& engine, double engine_age) const {
  const std::string labels = fmt::format("model_name=\"{}\",engine=\"0\"", escaped(model));
  std::string out;
  const auto sample = [&](const char* type, const std::string& name, const char* help, auto value) {
    out += type_line(name, type, help) + fmt::format("{}{{{}}} {}\n", name, labels, value);
  };
  sample("gauge", "vllm:num_requests_running", "Requests in the batch.", engine.running);
  sample("gauge", "vllm:num_requests_waiting", "Requests that wait for a place in the batch.", engine.waiting);
  sample("gauge", "vllm:kv_cache_usage_perc", "Cache pages in use, 0 to 1.", engine.cache_usage);
  sample("counter", "vllm:prompt_tokens_total", "Prompt tokens computed.", engine.prompt_tokens);
  sample("counter", "vllm:generation_tokens_total", "Tokens generated.", engine.generation_tokens);
  sample("counter", "vllm:num_preemptions_total", "Requests set back for want of cache.", engine.preemptions);
  sample("counter", "wavetune:steps_total", "Steps of the forward program.", engine.steps);
  sample("counter", "wavetune:graph_steps_total", "Steps replayed from a graph: no host work between their kernels.",
         engine.graph_steps);
  sample("gauge", "wavetune:launches_per_step", "Kernels that the last decode step launched, on one device.",
         engine.step_launches);
  sample("gauge", "wavetune:launches_per_layer", "The most of them in one layer.", engine.layer_launches);
  sample("gauge", "wavetune:engine_snapshot_age_seconds",
         "Age of the engine's numbers here; it grows when the engine is stuck.", engine_age);
  out += type_line("wavetune:kernel_shapes", "gauge",
                   "Distinct operator shapes run so far, by how the database answered for them.");
  const std::pair<const char*, std::int64_t> lookups[] = {{"exact", engine.lookups_exact},
                                                          {"bucket", engine.lookups_bucket},
                                                          {"nearest", engine.lookups_nearest},
                                                          {"fallback", engine.lookups_fallback}};
  for (const auto& [match, count] : lookups)
    out += fmt::format("wavetune:kernel_shapes{{{},match=\"{}\"}} {}\n", labels, match, count);

  const std::scoped_lock lock(mutex_);
  out += type_line("vllm:request_success_total", "counter", "Finished choices.");
  for (const Finish finish : {Finish::stop, Finish::length, Finish::tool_calls}) {
    out += fmt::format("vllm:request_success_total{{{},finished_reason=\"{}\"}} {}\n", labels, to_string(finish),
                       finished_[static_cast<size_t>(finish)]);
  }
  sample("counter", "wavetune:requests_cancelled_total", "Requests whose client went away.", cancelled_.load());
  sample("counter", "wavetune:requests_failed_total", "Requests that the engine failed.", failed_.load());
  out += type_line("wavetune:http_responses_total", "counter", "Answers by class of status.");
  for (size_t hundreds = 2; hundreds < responses_.size(); ++hundreds) {
    out +=
        fmt::format("wavetune:http_responses_total{{{},status=\"{}xx\"}} {}\n", labels, hundreds, responses_[hundreds]);
  }
  const auto histogram = [&](const char* name, const char* help, const Histogram& values) {
    out += type_line(name, "histogram", help) + values.text(name, labels);
  };
  histogram("vllm:time_to_first_token_seconds", "From a request's arrival to its first token.", first_token_);
  histogram("vllm:inter_token_latency_seconds", "Between tokens of one choice.", inter_token_);
  histogram("vllm:request_time_per_output_token_seconds", "Mean over a choice's tokens after the first.",
            per_output_token_);
  histogram("vllm:e2e_request_latency_seconds", "From a request's arrival to its last token.", total_);
  histogram("vllm:request_prompt_tokens", "Prompt tokens of a request.", prompt_tokens_);
  histogram("vllm:request_generation_tokens", "Generated tokens of a choice.", completion_tokens_);
  return out;
}

}  // namespace wavetune::server
