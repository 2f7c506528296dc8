#include "operator_harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "db/base/error.h"
#include "family_samples.h"
#include "placement.h"
#include "runtime/hip/handles.h"
#include "runtime/hip/provider.h"
#include "templates/common/launch.h"
#include "templates/registry.h"

namespace wavetune::templates::test {
namespace {

/// The device under test with the kernels that were compiled so far.
class Device {
 public:
  static Device& get() {
    static Device device;
    return device;
  }

  const hip::Api& api() const { return provider_->api(); }
  const DeviceLimits& limits() const { return provider_->devices().at(0).limits; }

  const hip::Module& module(const std::string& source) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = modules_.find(source);
      if (found != modules_.end()) return found->second;
    }
    hip::Module made = hip::load_module(api(), compile(source));
    const std::lock_guard lock(mutex_);
    return modules_.try_emplace(source, std::move(made)).first->second;
  }

  /// Compiles on all cores what is not there yet. A source that does not compile throws in module(), where it is
  /// wanted.
  void prepare(const std::set<std::string>& sources) {
    const std::vector<std::string> list(sources.begin(), sources.end());
    std::atomic<std::size_t> next{0};
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
      threads.emplace_back([&] {
        for (std::size_t at = next++; at < list.size(); at = next++) {
          try {
            module(list[at]);
          } catch (const Error&) {
          }
        }
      });
    }
  }

 private:
  Device() : provider_(hip::load_provider(hip::parse_device_spec(device_spec()))) {
    hip::check(api(), api().hipSetDevice(0), "hipSetDevice");
  }

  std::vector<std::byte> compile(const std::string& source) {
    const std::string unit = provider_->prelude() + source;
    hiprtcProgram program = nullptr;
    hip::check_rtc(api(), api().hiprtcCreateProgram(&program, unit.c_str(), "kernel.hip", 0, nullptr, nullptr),
                   "hiprtcCreateProgram");
    std::vector<std::string> options = provider_->compile_options(provider_->devices().at(0));
    if (provider_->kind() == hip::ProviderKind::cpu) options.emplace_back("-O1");  // many kernels that run briefly
    std::vector<const char*> texts;
    for (const std::string& option : options) texts.push_back(option.c_str());
    const hiprtcResult result = api().hiprtcCompileProgram(program, static_cast<int>(texts.size()), texts.data());
    std::size_t size = 0;
    if (result != HIPRTC_SUCCESS) {
      (void)api().hiprtcGetProgramLogSize(program, &size);
      std::string log(size, '\0');
      (void)api().hiprtcGetProgramLog(program, log.data());
      (void)api().hiprtcDestroyProgram(&program);
      fail(ErrorKind::device, "kernel does not compile: {}", log);
    }
    hip::check_rtc(api(), api().hiprtcGetCodeSize(program, &size), "hiprtcGetCodeSize");
    std::vector<std::byte> code(size);
    hip::check_rtc(api(), api().hiprtcGetCode(program, reinterpret_cast<char*>(code.data())), "hiprtcGetCode");
    (void)api().hiprtcDestroyProgram(&program);
    return code;
  }

  std::shared_ptr<const hip::Provider> provider_;
  std::mutex mutex_;
  std::map<std::string, hip::Module> modules_;
};

bool is_written(Role role) { return role == Role::output || role == Role::inout; }

/// The default configuration and `samples` drawn from the space. Positions are tried at random: enumerating a large
/// space takes longer than running the tests.
std::vector<Config> draw(const Operator& op, const Problem& problem, const DeviceLimits& limits, int samples) {
  std::vector<Config> configs{op.default_config(problem, limits)};
  const Space space = op.space(problem, limits);
  std::mt19937_64 random(20240229);
  for (int tries = 0; tries < 20000 && static_cast<int>(configs.size()) <= samples; ++tries) {
    Config config = space.at(random() % space.product_size());
    if (space.valid(config)) configs.push_back(std::move(config));
  }
  return configs;
}

}  // namespace

const char* to_string(Layout layout) {
  switch (layout) {
    case Layout::dense:
      return "dense";
    case Layout::padded:
      return "padded";
    case Layout::misaligned:
      return "misaligned";
  }
  return "?";
}

std::string device_spec() {
  const char* const chosen = std::getenv("WAVETUNE_TEST_DEVICE");
  return chosen == nullptr ? "cpu" : chosen;
}

bool on_cpu() { return is_cpu(device_limits()); }

DeviceLimits device_limits() { return Device::get().limits(); }

DeviceLimits gpu_limits() {
  const DeviceLimits own = device_limits();
  return own.wave_size == mi355x_limits().wave_size ? mi355x_limits() : own;
}

DeviceLimits mi355x_limits() {
  return {.arch = "gfx950", .wave_size = 64, .max_block_threads = 1024, .lds_bytes = 160 * 1024, .cu_count = 256};
}

TestData make_data(const Operator& op, const Problem& problem, const Scalars& scalars, std::uint64_t seed) {
  TestData data;
  data.scalars = op.default_scalars(problem);
  for (const auto& [name, value] : scalars) data.scalars[name] = value;
  std::mt19937_64 random(seed);
  for (const OperandSpec& spec : op.operands(problem)) data.tensors.emplace_back(spec.dtype, spec.count());
  op.fill(problem, random, data.tensors);
  data.expected = data.tensors;
  op.reference(problem, data.scalars, data.expected);
  return data;
}

RunResult run_operator(const Operator& op, const Problem& problem, const Config& config, Layout layout,
                       const TestData& data) {
  Device& device = Device::get();
  const hip::Api& api = device.api();
  const std::vector<OperandSpec> specs = arranged_operands(op, problem, config);
  std::vector<HostTensor> tensors;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    tensors.push_back(arrange(op.operands(problem)[i], op.arrangement(problem, config, i), data.tensors[i]));
  }

  // Arranged operands are dense: nobody makes them but the loader.
  const auto layout_of = [&](std::size_t i) {
    return op.arrangement(problem, config, i) == Arrangement::rows ? layout : Layout::dense;
  };
  std::vector<Placement> placements;
  std::vector<hip::DeviceBuffer> buffers;
  std::vector<View> views;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    Placement& placement = placements.emplace_back(specs[i], layout_of(i));
    if (specs[i].role != Role::output) placement.put(tensors[i]);
    const auto& image = placement.image();
    hip::DeviceBuffer& buffer = buffers.emplace_back(api, image.size());
    hip::check(api, api.hipMemcpy(buffer.get(), image.data(), image.size(), hipMemcpyHostToDevice), "hipMemcpy");
    views.push_back(placement.view(buffer.get()));
  }
  const std::int64_t workspace_bytes = op.workspace_bytes(problem, config);
  const OperandSpec workspace_spec{"workspace", Role::workspace, DType::f32, 1, 1, (workspace_bytes + 3) / 4};
  Placement workspace(workspace_spec, Layout::dense);
  hip::DeviceBuffer workspace_buffer(api, workspace.image().size());
  hip::check(
      api,
      api.hipMemcpy(workspace_buffer.get(), workspace.image().data(), workspace.image().size(), hipMemcpyHostToDevice),
      "hipMemcpy");

  const Call call{&problem, views, &data.scalars,
                  workspace_bytes > 0 ? workspace.view(workspace_buffer.get()).data : nullptr};
  const hip::Module& module = device.module(kernel_source(op, problem, config));
  for (const Launch& launch : op.launches(config, call)) {
    hip::launch(api, hip::get_function(api, module, launch.kernel), launch.grid, launch.block, launch.lds_bytes,
                nullptr, launch.params);
  }
  hip::check(api, api.hipDeviceSynchronize(), "hipDeviceSynchronize");

  RunResult result;
  // What lies around the tensor must still be as it was placed.
  const auto take = [&](const Placement& placement, const hip::DeviceBuffer& buffer, const OperandSpec& spec,
                        Layout its_layout) {
    std::vector<std::byte> written(buffer.bytes());
    hip::check(api, api.hipMemcpy(written.data(), buffer.get(), written.size(), hipMemcpyDeviceToHost), "hipMemcpy");
    HostTensor tensor = placement.take(written);
    if (written != Placement(spec, its_layout).image()) result.damage += " outside of " + spec.name;
    return tensor;
  };
  std::vector<HostTensor> got;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    got.push_back(take(placements[i], buffers[i], specs[i], layout_of(i)));
    const bool same = std::ranges::equal(got[i].bytes(), tensors[i].bytes());
    if (!is_written(specs[i].role) && !same) result.damage += " input " + specs[i].name;
  }
  (void)take(workspace, workspace_buffer, workspace_spec, Layout::dense);
  result.comparison = op.compare(problem, got, data.expected);
  return result;
}

void check_space(const Operator& op, const Problem& problem, const DeviceLimits& limits) {
  SCOPED_TRACE(problem.key() + " on " + limits.arch);
  op.check(problem);
  const Space space = op.space(problem, limits);
  const Config fallback = op.default_config(problem, limits);
  EXPECT_EQ(space.violation(fallback), std::nullopt) << db::to_text(fallback);
  const std::vector<OperandSpec> specs = op.operands(problem);
  const Scalars scalars = op.default_scalars(problem);
  const std::vector<void*> nowhere(specs.size(), nullptr);
  const std::vector<View> views = dense_views(specs, nowhere);
  const Call call{&problem, views, &scalars, nullptr};
  Problem grown = problem;
  for (const char* name : {"m", "context", "slots", "rows"}) {
    const auto found = grown.dims.find(name);
    if (found != grown.dims.end()) found->second = 2 * found->second + 5;
  }
  for (const Config& config : draw(op, problem, limits, 20)) {
    SCOPED_TRACE(db::to_text(config));
    EXPECT_EQ(op.constants(problem, config), op.constants(grown, config));
    EXPECT_GE(op.workspace_bytes(problem, config), 0);
    const std::vector<Launch> launches = op.launches(config, call);
    EXPECT_FALSE(launches.empty());
    for (const Launch& launch : launches) {
      EXPECT_LE(launch.lds_bytes, static_cast<std::uint32_t>(limits.lds_bytes));
      EXPECT_LE(launch.block[0] * launch.block[1] * launch.block[2],
                static_cast<std::uint32_t>(limits.max_block_threads));
      EXPECT_GT(launch.block[0] * launch.block[1] * launch.block[2], 0u);
      EXPECT_GT(launch.grid[0] * launch.grid[1] * launch.grid[2], 0u);
      EXPECT_LE(launch.grid[1], 65535u);
      EXPECT_LE(launch.grid[2], 65535u);
    }
  }
  const Cost cost = op.cost(problem);
  EXPECT_GT(cost.bytes, 0);
  EXPECT_GE(cost.flops, 0);
}

namespace {

/// A family's problem with little to do: its configurations are those of the full one.
Problem reduced(Problem problem) {
  const auto at_most = [&problem](const char* name, std::int64_t most) {
    const auto found = problem.dims.find(name);
    if (found != problem.dims.end()) found->second = std::min(found->second, most);
  };
  at_most("m", 5);
  at_most("slots", 8192);
  at_most("rows", 1000);
  if (problem.op == "gemm") {
    at_most("n", 200);
    at_most("k", 544);
  }
  if (problem.op == "grouped_gemm") {
    at_most("experts", 12);
    at_most("n", 96);
    at_most("k", 544);
  }
  return problem;
}

/// All configurations that are compiled for gfx950 in the tests of hipRTC are computed here; on an NVIDIA GPU those
/// that are compiled for it in the tests of NVRTC.
void check_family(const OperatorCase& c) {
  const auto family = families().find(c.op + "_" + c.dtype);
  if (family == families().end() || !c.gpu_space) return;
  const Operator& op = get_operator(c.op);
  const std::vector<Config> configs = family_sample(family->second, gpu_limits(), family_points());
  // Those of the matrix paths are in matrix_gemm_test.cpp.
  const bool product = c.op == "gemm" || c.op == "grouped_gemm";
  if (product && op.row_alignment(family->second, configs.back()) > 1) return;
  const Problem problem = reduced(family->second);
  std::set<std::string> sources;
  for (const Config& config : configs) sources.insert(kernel_source(op, problem, config));
  Device::get().prepare(sources);
  const TestData data = make_data(op, problem, c.scalars, 1);
  for (const Config& config : configs) {
    const RunResult result = run_operator(op, problem, config, Layout::dense, data);
    EXPECT_TRUE(result.comparison.passes() && result.damage.empty())
        << problem.key() << " with " << db::to_text(config) << ": " << result.comparison.message << result.damage;
  }
}

}  // namespace

void check_operator(const OperatorCase& c) {
  check_family(c);
  const Operator& op = get_operator(c.op);
  std::vector<Problem> problems;
  for (const db::NamedInts& dims : c.shapes) problems.push_back({c.op, c.dtype, dims});
  std::vector<DeviceLimits> devices{device_limits()};
  if (c.gpu_space && gpu_limits().arch != devices.front().arch) devices.push_back(gpu_limits());
  const bool any_path = gpu_limits().arch == mi355x_limits().arch;

  std::vector<std::pair<Config, const DeviceLimits*>> configs;
  for (const DeviceLimits& limits : devices) {
    for (const Config& config : draw(op, problems.at(0), limits, c.samples)) configs.emplace_back(config, &limits);
  }
  std::vector<std::vector<Config>> to_run(problems.size());
  std::set<std::string> sources;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    for (const DeviceLimits& limits : devices) {
      check_space(op, problems[i], limits);
      to_run[i].push_back(op.default_config(problems[i], limits));
    }
    for (const auto& [config, limits] : configs) {
      if (op.space(problems[i], *limits).valid(config)) to_run[i].push_back(config);
    }
    for (const Config& config : c.configs) {
      if (any_path || op.space(problems[i], devices.front()).valid(config)) to_run[i].push_back(config);
    }
    std::sort(to_run[i].begin(), to_run[i].end());
    to_run[i].erase(std::unique(to_run[i].begin(), to_run[i].end()), to_run[i].end());
    for (const Config& config : to_run[i]) sources.insert(kernel_source(op, problems[i], config));
  }
  Device::get().prepare(sources);

  for (std::size_t i = 0; i < problems.size(); ++i) {
    const TestData data = make_data(op, problems[i], c.scalars, i + 1);
    for (const Config& config : to_run[i]) {
      for (Layout layout : c.layouts) {
        if (layout != Layout::dense && static_cast<int>(i) >= c.shapes_per_layout) continue;
        if (layout == Layout::misaligned && op.row_alignment(problems[i], config) > 1) continue;
        const RunResult result = run_operator(op, problems[i], config, layout, data);
        EXPECT_TRUE(result.comparison.passes() && result.damage.empty())
            << problems[i].key() << " with " << db::to_text(config) << ", " << to_string(layout) << ": "
            << result.comparison.message << (result.damage.empty() ? "" : "; wrote" + result.damage);
      }
    }
  }
}

void expect_all_match(const std::vector<Problem>& problems, const std::vector<Config>& configs) {
  const Operator& op = get_operator(problems.front().op);
  std::vector<TestData> data;
  for (const Problem& problem : problems) data.push_back(make_data(op, problem, {}, 7));
  for (const Config& config : configs) {
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const RunResult result =
          run_operator(op, problems[i], config, i % 2 == 0 ? Layout::dense : Layout::padded, data[i]);
      EXPECT_TRUE(result.comparison.passes() && result.damage.empty())
          << problems[i].key() << " " << db::to_text(config) << ": " << result.comparison.message << result.damage;
    }
  }
}

}  // namespace wavetune::templates::test
