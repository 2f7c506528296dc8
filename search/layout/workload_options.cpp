#include "search/layout/workload_options.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "db/base/error.h"

namespace wavetune::search {
namespace po = boost::program_options;
namespace {

// What `serve` takes unless told otherwise (EngineOptions), so that a plain tune and a plain serve meet.
constexpr std::int64_t serve_max_context = 8192;
// The typical context only decides at which length the indexer's kernels are tuned; other lengths take the nearest.
constexpr std::int64_t cpu_context = 512;
constexpr std::int64_t gpu_context = 4096;

std::int64_t positive(const po::variables_map& values, const char* name, std::int64_t fallback) {
  if (values.count(name) == 0) return fallback;
  const auto value = values[name].as<std::int64_t>();
  if (value < 1) fail(ErrorKind::usage, "--{} {} must be at least 1", name, value);
  return value;
}

}  // namespace

void add_workload_options(po::options_description& options) {
  options.add_options()("tp", po::value<std::string>(),
                        "tensor-parallel degrees to consider, e.g. 1,2 (default: all that fit the model)")(
      "objective", po::value<std::string>()->default_value("throughput"),
      "what the layout is chosen for: throughput, latency, or (with --workload) cost")(
      "concurrency", po::value<std::int64_t>(), "sequences decoded at the same time on the node (default 32)")(
      "decode-batches", po::value<std::string>(),
      "batches that decode steps are tuned at, e.g. 1,2,4,6,8 (default: powers of two up to the concurrency)")(
      "prefill-tokens", po::value<std::string>(),
      "tokens of a prefill chunk (default 256); of a list, e.g. 1024,4096, all are tuned and the first is served")(
      "node-devices", po::value<int>()->default_value(0),
      "devices of the node that is tuned for, when fewer are here: its TP degrees are tuned on those (default: as many "
      "as are here)")("context", po::value<std::int64_t>(),
                      "context of a typical step in tokens (default 4096, on cpu 512)")(
      "max-context", po::value<std::int64_t>(),
      "longest sequence that will be served (default: the model's limit, at most 8192)");
}

std::vector<int> read_tp(const po::variables_map& values) {
  return values.count("tp") != 0 ? parse_int_list(values["tp"].as<std::string>(), "--tp") : std::vector<int>{};
}

db::Objective read_objective(const po::variables_map& values) {
  const auto objective = db::objective_from_string(values["objective"].as<std::string>());
  if (!objective) {
    fail(ErrorKind::usage, "--objective '{}' is not throughput, latency or cost",
         values["objective"].as<std::string>());
  }
  return *objective;
}

WorkloadChoice read_workload_options(const po::variables_map& values, const model::ModelConfig& config,
                                     hip::ProviderKind kind) {
  WorkloadChoice choice;
  Workload& workload = choice.workload;
  workload.concurrency = static_cast<int>(std::min<std::int64_t>(positive(values, "concurrency", 32), 65536));
  if (values.count("decode-batches") != 0) {
    workload.decode_batches = parse_int_list(values["decode-batches"].as<std::string>(), "--decode-batches");
    const int largest = *std::ranges::max_element(workload.decode_batches);
    if (values.count("concurrency") == 0) workload.concurrency = largest;
    if (largest > workload.concurrency) {
      fail(ErrorKind::usage, "--decode-batches {} is more than the {} sequences of --concurrency", largest,
           workload.concurrency);
    }
  }
  if (values.count("prefill-tokens") != 0) {
    const std::vector<int> tokens = parse_int_list(values["prefill-tokens"].as<std::string>(), "--prefill-tokens");
    workload.prefill_tokens = tokens.front();
    workload.more_prefill_tokens.assign(tokens.begin() + 1, tokens.end());
  }
  const std::int64_t limit = config.max_position_embeddings > 0 ? config.max_position_embeddings : serve_max_context;
  workload.max_context = positive(values, "max-context", std::min(limit, serve_max_context));
  if (workload.max_context > limit) {
    fail(ErrorKind::usage, "--max-context {} is beyond the model's limit of {} tokens", workload.max_context, limit);
  }
  workload.context = std::min(positive(values, "context", kind == hip::ProviderKind::cpu ? cpu_context : gpu_context),
                              workload.max_context);
  choice.tp = read_tp(values);
  choice.objective = read_objective(values);
  choice.node_devices = values["node-devices"].as<int>();
  if (choice.node_devices < 0) fail(ErrorKind::usage, "--node-devices {} is negative", choice.node_devices);
  for (const char* name : {"tp", "concurrency", "decode-batches", "prefill-tokens", "context", "max-context"})
    choice.given |= values.count(name) != 0;
  return choice;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

std::vector<int> parse_int_list(const std::string& text, const std::string& option) {
  std::vector<int> numbers;
  for (const std::string& word : split_list(text)) {
    int value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size() || value < 1) {
      fail(ErrorKind::usage, "{} '{}' is not a list of positive numbers; write for example 1,2,4", option, text);
    }
    numbers.push_back(value);
  }
  if (numbers.empty()) fail(ErrorKind::usage, "{} '{}' names no number", option, text);
  return numbers;
}

}  // namespace wavetune::search
