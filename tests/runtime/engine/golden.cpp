#include "golden.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "db/base/file.h"

namespace wavetune::engine {
namespace {

/// Kernels are compiled and loaded once for all tests of the program.
struct SharedKernels {
  std::shared_ptr<const hip::Provider> provider = test_provider();
  jit::CompileService compiler{test_compile_options()};
  kernels::KernelCache cache{provider, compiler,
                             kernels::WinnerIndex(nullptr, hip::environment_of(*provider, provider->devices().front())),
                             kernels::UntunedPolicy::quiet};
};

SharedKernels& shared_kernels() {
  static SharedKernels shared;
  return shared;
}

}  // namespace

std::filesystem::path golden_folder() { return std::filesystem::path(WAVETUNE_SOURCE_DIR) / "tests" / "golden"; }

GoldenFile read_golden(const std::string& name) {
  const std::string bytes = read_file(golden_folder() / name);
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, bytes.data(), sizeof header_size);
  const auto header = nlohmann::json::parse(bytes.substr(8, header_size));
  GoldenFile file;
  for (const auto& [tensor, entry] : header.items()) {
    if (tensor == "__metadata__") continue;
    const std::size_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
    const auto* data = reinterpret_cast<const std::byte*>(bytes.data()) + 8 + header_size;
    file.tensors[tensor] = {data + begin, data + end};
  }
  return file;
}

std::vector<GoldenPrompt> read_golden_prompts(const std::string& name) {
  const GoldenFile file = read_golden(name + ".golden.safetensors");
  std::vector<GoldenPrompt> prompts;
  for (int i = 0; i < 4; ++i) {
    const std::string prefix = "prompt." + std::to_string(i) + ".";
    prompts.push_back({file.get<std::int32_t>(prefix + "ids"), file.get<float>(prefix + "logits"),
                       file.get<std::int32_t>(prefix + "greedy"), file.get<float>(prefix + "greedy_logits")});
  }
  return prompts;
}

jit::CompileOptions test_compile_options() {
  jit::CompileOptions options;
  options.worker_executable = WAVETUNE_BINARY;
  return options;
}

AlteredProvider::AlteredProvider(std::shared_ptr<const hip::Provider> original,
                                 const std::function<void(hip::Api&)>& alter)
    : original_(std::move(original)) {
  api_ = original_->api();
  alter(api_);
  devices_ = original_->devices();
  driver_ = original_->driver();
  compiler_ = original_->compiler();
  compiler_version_ = original_->compiler_version();
}

AlteredProvider::AlteredProvider(std::shared_ptr<const hip::Provider> original, const templates::DeviceLimits& limits)
    : AlteredProvider(std::move(original), [](hip::Api&) {}) {
  for (hip::DeviceInfo& device : devices_) device.limits = limits;
}

std::shared_ptr<const hip::Provider> test_provider() {
  static const std::shared_ptr<const hip::Provider> provider = hip::load_provider(hip::parse_device_spec("cpu:4"));
  return provider;
}

TestGroup make_group(const std::string& model, const GroupOptions& options) {
  const std::filesystem::path folder = golden_folder() / model;
  TestGroup group;
  group.config = model::load_config(folder);
  if (options.dtype) group.config.dtype = *options.dtype;
  ExecutorOptions executor;
  executor.devices.resize(static_cast<std::size_t>(options.tp));
  for (int rank = 0; rank < options.tp; ++rank) executor.devices[static_cast<std::size_t>(rank)] = rank;
  executor.max_step_tokens = options.max_step_tokens;
  executor.max_samples = options.max_step_tokens;
  executor.max_sequences = 8;
  executor.max_context = 256;
  executor.page_size = 16;
  executor.pages = 64;
  executor.contents = InitialContents::poison;
  executor.graphs = options.graphs;
  group.executor = std::make_unique<Executor>(options.provider ? options.provider : test_provider(),
                                              options.kernels != nullptr ? *options.kernels : shared_kernels().cache,
                                              group.config, model::Checkpoint::open(folder), executor);
  return group;
}

Sequence scattered_sequence(const std::vector<std::int32_t>& tokens, const ExecutorOptions& options) {
  Sequence sequence;
  sequence.tokens = tokens;
  sequence.row = 1;
  for (std::int64_t page = 0; page * options.page_size < sequence.length(); ++page) {
    sequence.pages.push_back(static_cast<std::int32_t>(options.pages - 1 - 2 * page));
  }
  return sequence;
}

StepInput all_logits_step(const Sequence& sequence, std::int64_t begin, std::int64_t count,
                          const ExecutorOptions& options) {
  StepInput step;
  append_tokens(step, sequence, begin, count, options.page_size);
  for (std::int64_t row = 0; row < count; ++row) append_sample(step, row, {.temperature = 0}, begin + row + 1);
  return step;
}

std::vector<float> run_prompt(Executor& executor, const std::vector<std::int32_t>& tokens, std::int64_t chunk) {
  const Sequence sequence = scattered_sequence(tokens, executor.options());
  std::vector<float> logits;
  for (std::int64_t begin = 0; begin < sequence.length(); begin += chunk) {
    const std::int64_t count = std::min(chunk, sequence.length() - begin);
    executor.step(all_logits_step(sequence, begin, count, executor.options()));
    const std::vector<float> part = executor.logits();
    logits.insert(logits.end(), part.begin(), part.end());
  }
  return logits;
}

std::int32_t argmax(const float* row, std::int64_t count) {
  return static_cast<std::int32_t>(std::max_element(row, row + count) - row);
}

}  // namespace wavetune::engine
