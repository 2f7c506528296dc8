// Operators whose result may take the place of an input, and that give the same bits in every run.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "operator_harness.h"
#include "runtime/hip/handles.h"
#include "runtime/hip/provider.h"
#include "templates/registry.h"

namespace wavetune::templates::test {
namespace {

struct InPlace {
  const char* name;
  Problem problem;
  std::size_t input;  ///< operand whose memory the output takes
  std::size_t output;
};

std::vector<InPlace> cases() {
  return {
      {"rope", {"rope", "bf16", {{"m", 5}, {"heads", 3}, {"n", 16}}}, 0, 2},
      {"rmsnorm", {"rmsnorm", "bf16", {{"m", 5}, {"n", 70}, {"residual", 0}}}, 0, 2},
      {"rmsnorm_residual", {"rmsnorm", "f32", {{"m", 5}, {"n", 70}, {"residual", 1}}}, 0, 3},
      {"layernorm", {"layernorm", "bf16", {{"m", 5}, {"n", 70}, {"residual", 0}}}, 0, 3},
      {"all_reduce_first", {"all_reduce", "bf16", {{"m", 5}, {"n", 70}, {"ranks", 3}}}, 0, 3},
      {"all_reduce_last", {"all_reduce", "bf16", {{"m", 5}, {"n", 70}, {"ranks", 3}}}, 2, 3},
  };
}

/// Runs a configuration on the CPU device with the output in the input's memory, twice from the start, and returns that
/// memory of both runs.
std::array<HostTensor, 2> run_in_place(const InPlace& in_place, const Config& config, const TestData& data) {
  const Operator& op = get_operator(in_place.problem.op);
  static const std::shared_ptr<const hip::Provider> provider = hip::load_provider(hip::parse_device_spec("cpu"));
  const hip::Api& api = provider->api();
  hip::check(api, api.hipSetDevice(0), "hipSetDevice");
  const std::string source = provider->prelude() + kernel_source(op, in_place.problem, config);
  hiprtcProgram program = nullptr;
  hip::check_rtc(api, api.hiprtcCreateProgram(&program, source.c_str(), "kernel.hip", 0, nullptr, nullptr),
                 "hiprtcCreateProgram");
  std::vector<const char*> options;
  const std::vector<std::string> texts = provider->compile_options(provider->devices().at(0));
  for (const std::string& text : texts) options.push_back(text.c_str());
  hip::check_rtc(api, api.hiprtcCompileProgram(program, static_cast<int>(options.size()), options.data()),
                 "hiprtcCompileProgram");
  std::size_t size = 0;
  hip::check_rtc(api, api.hiprtcGetCodeSize(program, &size), "hiprtcGetCodeSize");
  std::vector<std::byte> code(size);
  hip::check_rtc(api, api.hiprtcGetCode(program, reinterpret_cast<char*>(code.data())), "hiprtcGetCode");
  hip::check_rtc(api, api.hiprtcDestroyProgram(&program), "hiprtcDestroyProgram");
  const hip::Module module = hip::load_module(api, code);

  std::array<HostTensor, 2> results;
  for (HostTensor& result : results) {
    std::vector<hip::DeviceBuffer> buffers;
    std::vector<void*> pointers;
    for (const HostTensor& tensor : data.tensors) {
      const std::span<const std::byte> bytes = tensor.bytes();
      buffers.emplace_back(api, bytes.size());
      hip::check(api, api.hipMemcpy(buffers.back().get(), bytes.data(), bytes.size(), hipMemcpyHostToDevice),
                 "hipMemcpy");
      pointers.push_back(buffers.back().get());
    }
    pointers[in_place.output] = pointers[in_place.input];
    const std::vector<View> views = dense_views(op.operands(in_place.problem), pointers);
    for (const Launch& launch : op.launches(config, {&in_place.problem, views, &data.scalars, nullptr})) {
      hip::launch(api, hip::get_function(api, module, launch.kernel), launch.grid, launch.block, launch.lds_bytes,
                  nullptr, launch.params);
    }
    hip::check(api, api.hipDeviceSynchronize(), "hipDeviceSynchronize");
    result = data.tensors[in_place.output];
    hip::check(
        api,
        api.hipMemcpy(result.bytes().data(), pointers[in_place.output], result.bytes().size(), hipMemcpyDeviceToHost),
        "hipMemcpy");
  }
  return results;
}

class OperatorInPlace : public testing::TestWithParam<InPlace> {};

TEST_P(OperatorInPlace, GivesTheReferenceAndTheSameBitsTwice) {
  const InPlace& in_place = GetParam();
  const Operator& op = get_operator(in_place.problem.op);
  const TestData data = make_data(op, in_place.problem, {}, 7);
  for (const DeviceLimits& limits : {device_limits(), gpu_limits()}) {
    const Config config = op.default_config(in_place.problem, limits);
    std::vector<HostTensor> got = data.expected;
    const auto [first, second] = run_in_place(in_place, config, data);
    got[in_place.output] = first;
    const Comparison comparison = op.compare(in_place.problem, got, data.expected);
    EXPECT_TRUE(comparison.passes()) << db::to_text(config) << ": " << comparison.message;
    EXPECT_EQ(0, std::memcmp(first.bytes().data(), second.bytes().data(), first.bytes().size()));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, OperatorInPlace, testing::ValuesIn(cases()),
                         [](const auto& suite) { return std::string(suite.param.name); });

}  // namespace
}  // namespace wavetune::templates::test
