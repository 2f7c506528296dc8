// The vectors of tests/golden, and what the engine tests share: one device provider, compile service and kernel cache.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/engine_factory.h"
#include "runtime/engine/executor.h"

namespace wavetune::engine {

struct GoldenPrompt {
  std::vector<std::int32_t> ids;
  std::vector<float> logits;         ///< [ids, vocab]
  std::vector<std::int32_t> greedy;  ///< the 64 tokens that follow
  std::vector<float> greedy_logits;  ///< [64, vocab]
};

/// Tensors of a safetensors file, by name; integers and floats as they are in the file (4 bytes an element).
struct GoldenFile {
  std::map<std::string, std::vector<std::byte>> tensors;

  template <class T>
  std::vector<T> get(const std::string& name) const {
    const std::vector<std::byte>& bytes = tensors.at(name);
    const auto* begin = reinterpret_cast<const T*>(bytes.data());
    return {begin, begin + bytes.size() / sizeof(T)};
  }
};

std::filesystem::path golden_folder();
GoldenFile read_golden(const std::string& name);
/// The four prompts of NAME.golden.safetensors.
std::vector<GoldenPrompt> read_golden_prompts(const std::string& name);

/// Options with which the test program can start compile workers.
jit::CompileOptions test_compile_options();

/// The CPU devices with some calls replaced, or that say of themselves what they are not.
class AlteredProvider final : public hip::Provider {
 public:
  AlteredProvider(std::shared_ptr<const hip::Provider> original, const std::function<void(hip::Api&)>& alter);
  /// Every device has the limits of `limits`: kernels are then chosen and made as for that device.
  AlteredProvider(std::shared_ptr<const hip::Provider> original, const templates::DeviceLimits& limits);
  hip::ProviderKind kind() const override { return original_->kind(); }
  std::vector<std::string> compile_options(const hip::DeviceInfo& device) const override {
    return original_->compile_options(device);
  }
  std::string prelude() const override { return original_->prelude(); }

 private:
  std::shared_ptr<const hip::Provider> original_;
};

/// Four CPU devices.
std::shared_ptr<const hip::Provider> test_provider();

/// One tensor-parallel group over `tp` CPU devices, with caches and activations poisoned.
struct TestGroup {
  model::ModelConfig config;
  std::unique_ptr<Executor> executor;
};
struct GroupOptions {
  int tp = 1;
  std::int64_t max_step_tokens = 64;
  std::optional<templates::DType> dtype = std::nullopt;     ///< compute in this instead of the checkpoint's
  std::shared_ptr<const hip::Provider> provider = nullptr;  ///< none: test_provider()
  kernels::KernelCache* kernels = nullptr;                  ///< none: one of test_provider() that all tests share
  Graphs graphs = Graphs::automatic;
};
TestGroup make_group(const std::string& model, const GroupOptions& options = {});

/// A sequence of all of `tokens`, with pages that are neither in order nor from the first page on, so that a mix-up of
/// logical and physical pages shows.
Sequence scattered_sequence(const std::vector<std::int32_t>& tokens, const ExecutorOptions& options);
/// Tokens [begin, begin + count), with the logits of all of them.
StepInput all_logits_step(const Sequence& sequence, std::int64_t begin, std::int64_t count,
                          const ExecutorOptions& options);

/// Runs `tokens` through a fresh sequence in chunks of at most `chunk` tokens; logits of all positions, [tokens,
/// vocab].
std::vector<float> run_prompt(Executor& executor, const std::vector<std::int32_t>& tokens, std::int64_t chunk);

/// Lowest id on ties.
std::int32_t argmax(const float* row, std::int64_t count);

}  // namespace wavetune::engine
