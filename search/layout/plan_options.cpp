#include "search/layout/plan_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <sstream>

#include "db/base/command_line.h"
#include "db/base/error.h"

namespace wavetune::search {
namespace po = boost::program_options;
namespace {

// Mean accepted lengths of GLM-5.2's MTP layer with 1 to 8 drafts (InferenceX, golden_al_distribution/glm5.2_mtp.yaml).
constexpr std::array<double, 8> published_lengths = {1.84, 2.50, 2.99, 3.33, 3.61, 3.78, 3.91, 4.06};

double positive_number(const po::variables_map& values, const char* name) {
  const auto value = values[name].as<double>();
  if (!(value > 0)) fail(ErrorKind::usage, "--{} {} must be more than 0", name, value);
  return value;
}

std::int64_t positive_integer(const po::variables_map& values, const char* name) {
  const auto value = values[name].as<std::int64_t>();
  if (value < 1) fail(ErrorKind::usage, "--{} {} must be at least 1", name, value);
  return value;
}

}  // namespace

void add_plan_options(po::options_description& options) {
  options.add_options()("workload", po::value<std::string>(),
                        "simulate the server under this load: in=20000,out=1000,hit=0.6 and, if wanted, spread=0.2, "
                        "arrivals=poisson|even, rate=0.5/1/2 or clients=1/16/64, seed=1")(
      "devices", po::value<std::string>(), "plan for devices that are not here, e.g. 8xMI355X")(
      "weights", po::value<std::string>()->default_value("bf16"), "checkpoint's number formats: bf16, fp8 or mxfp4")(
      "kv", po::value<std::string>(), "cache format: bf16 or fp8 (default: the model's; fp8 with --devices)")(
      "mtp", po::value<std::string>()->default_value("0"),
      "drafted tokens a step: 5, or with acceptance probabilities 3:0.84/0.66/0.49")(
      "ttft", po::value<std::string>()->default_value("5s"), "limit of TTFT p95")(
      "gpu-hour", po::value<double>(), "price of a device's hour: shows the cost of a million tokens")(
      "step-tokens", po::value<std::int64_t>()->default_value(8192), "token budget of a step of the simulated server")(
      "max-sequences", po::value<std::int64_t>()->default_value(256), "sequences in a replica's batch");
}

Speculation parse_speculation(const std::string& text) {
  Speculation speculation;
  const std::size_t colon = text.find(':');
  const std::string count = text.substr(0, colon);
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), speculation.draft_tokens);
  const bool counted = error == std::errc{} && end == count.data() + count.size() && speculation.draft_tokens >= 0;
  if (!counted || (colon == std::string::npos && speculation.draft_tokens > static_cast<int>(published_lengths.size())))
    fail(ErrorKind::usage, "--mtp '{}' is not a number of drafts from 0 to {}", text, published_lengths.size());
  if (colon == std::string::npos) {
    double before = 1;
    for (int i = 0; i < speculation.draft_tokens; ++i) {
      const double length = published_lengths[static_cast<std::size_t>(i)];
      speculation.acceptance.push_back(length - std::exchange(before, length));
    }
    return speculation;
  }
  std::istringstream rest(text.substr(colon + 1));
  for (std::string word; std::getline(rest, word, '/');) {
    double value = 0;
    const auto [last, bad] = std::from_chars(word.data(), word.data() + word.size(), value);
    const double most = speculation.acceptance.empty() ? 1 : speculation.acceptance.back();
    if (bad != std::errc{} || last != word.data() + word.size() || !(value >= 0 && value <= most))
      fail(ErrorKind::usage, "--mtp '{}': '{}' is not a probability that is at most the one before it", text, word);
    speculation.acceptance.push_back(value);
  }
  if (speculation.acceptance.size() != static_cast<std::size_t>(speculation.draft_tokens))
    fail(ErrorKind::usage, "--mtp '{}' needs {} probabilities", text, speculation.draft_tokens);
  return speculation;
}

PlanOptions read_plan_options(const po::variables_map& values, db::Objective objective, bool published_attention) {
  PlanOptions options;
  options.objective = objective;
  options.traffic = parse_traffic(values["workload"].as<std::string>());
  options.formats = served_formats(values["weights"].as<std::string>());
  const std::string kv =
      values.count("kv") != 0 ? values["kv"].as<std::string>() : (published_attention ? "fp8" : "bf16");
  if (kv != "bf16" && kv != "fp8") fail(ErrorKind::usage, "--kv '{}' is neither bf16 nor fp8", kv);
  options.formats.cache = kv == "fp8" ? CacheFormat::fp8 : CacheFormat::model;
  options.speculation = parse_speculation(values["mtp"].as<std::string>());
  options.ttft_limit_s = parse_duration_seconds(values["ttft"].as<std::string>(), "--ttft");
  options.step_tokens = positive_integer(values, "step-tokens");
  options.max_sequences = positive_integer(values, "max-sequences");
  if (values.count("gpu-hour") != 0) options.gpu_hour = positive_number(values, "gpu-hour");
  if (objective == db::Objective::cost && !(options.gpu_hour > 0))
    fail(ErrorKind::usage, "--objective cost needs the price of a device's hour: --gpu-hour 2.50");
  return options;
}

std::vector<std::string> assumptions_of(const PlanOptions& options, const CostTable& costs) {
  std::vector<std::string> list;
  const ServedFormats& formats = options.formats;
  list.push_back(fmt::format("weights as in {}: dense products {}, experts {}, all else bf16; cache {}",
                             formats.checkpoint, formats.dense.empty() ? "bf16" : formats.dense,
                             formats.experts.empty() ? "bf16" : formats.experts,
                             formats.cache == CacheFormat::fp8 ? "FP8" : "as the model's activations"));
  list.push_back(
      fmt::format("operator times: {} winners measured by wavetune, {} published times; between two known m "
                  "a straight line, beyond the largest by the analytic model or the last slope (estimated)",
                  costs.winners(), costs.references()));
  if (costs.references() > 0) {
    list.push_back(
        fmt::format("published times are taken to include the gap to the next launch (they were measured in a stream "
                    "of calls); what "
                    "nobody measured costs its roofline, products the analytic model's time, and no launch less than "
                    "{:.2f} us, the "
                    "shortest published",
                    costs.shortest_launch_us()));
    list.emplace_back(
        "every operator of the program is a launch of its own, except that published fused MoE times stand for both "
        "expert products, the quantisation between them and the weighted sum");
  }
  list.push_back(
      fmt::format("a step takes up to {} tokens and {} sequences: decoding ones first, then prompts in the "
                  "order of arrival (the server's own scheduler)",
                  options.step_tokens, options.max_sequences));
  list.emplace_back(
      "ranks and replicas are equally fast; a prefix hit saves its prefill, not its room in the cache; success: first "
      "token within the limit");
  if (options.speculation.draft_tokens > 0) {
    list.push_back(
        fmt::format("speculation: {} drafts, at least so many accepted with probability {:.2f}: {:.2f} tokens "
                    "a step",
                    options.speculation.draft_tokens, fmt::join(options.speculation.acceptance, " / "),
                    options.speculation.mean_length()));
  }
  return list;
}

}  // namespace wavetune::search
