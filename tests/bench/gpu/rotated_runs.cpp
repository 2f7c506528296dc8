#include "rotated_runs.h"

#include <algorithm>
#include <cmath>

#include "db/base/error.h"
#include "search/measure/timing.h"

namespace wavetune::gpu_bench {
namespace {

// A graph lasts about this long, so that its launch does not count.
constexpr double graph_us = 500;
constexpr int most_runs = 400;
constexpr int most_sets = 256;
constexpr std::size_t alignment = 1024;  // of each set's operands, as an allocator gives

std::size_t operand_bytes(const std::vector<templates::OperandSpec>& specs, std::int64_t workspace) {
  std::size_t bytes = static_cast<std::size_t>(workspace);
  for (const templates::OperandSpec& spec : specs) bytes += templates::bytes_for(spec.dtype, spec.count());
  return bytes;
}

/// So many that all together are four times the last cache, in at most a third of the memory.
int count_sets(const hip::Api& api, double needed_bytes, std::size_t allocated_bytes) {
  int cache = 0;
  if (api.hipDeviceGetAttribute(&cache, hipDeviceAttributeL2CacheSize, 0) != hipSuccess) cache = 0;
  std::size_t available = 0, total = 0;
  hip::check(api, api.hipMemGetInfo(&available, &total), "hipMemGetInfo");
  const double wanted = std::floor(4.0 * cache / std::max(1.0, needed_bytes)) + 1;
  const double fits = std::floor(static_cast<double>(available) / 3.0 / static_cast<double>(allocated_bytes));
  return static_cast<int>(std::clamp(std::min(std::max(wanted, 2.0), fits), 1.0, static_cast<double>(most_sets)));
}

}  // namespace

RotatedRuns::RotatedRuns(const hip::Provider& provider, const templates::Operator& op, const db::Problem& problem,
                         const db::Config& config, std::span<const std::byte> code, const OperandData& data)
    : api_(provider.api()) {
  hip::check(api_, api_.hipSetDevice(0), "hipSetDevice");
  module_ = hip::load_module(api_, code);
  stream_ = hip::make_stream(api_);
  begin_ = hip::make_event(api_);
  end_ = hip::make_event(api_);
  specs_ = templates::arranged_operands(op, problem, config);
  const std::size_t bytes = operand_bytes(specs_, op.workspace_bytes(problem, config));
  const int wanted = count_sets(api_, data.needed_bytes, std::max<std::size_t>(1, bytes));
  make_sets(wanted, op, problem, config, data);
  // Once without a graph: what the driver loads lazily must not be loaded in a capture.
  for (const measure::LoadedLaunches& launches : launches_) launches.enqueue(stream_.get());
  hip::check(api_, api_.hipStreamSynchronize(stream_.get()), "hipStreamSynchronize after the kernel");
  capture(1);
  replay_us();
  const double once = std::max(0.1, replay_us());
  const int repeats = static_cast<int>(std::min(graph_us / once, static_cast<double>(most_runs) / sets()));
  if (repeats > 1) capture(repeats);
}

double RotatedRuns::measure(int replays) {
  hip::check(api_, api_.hipSetDevice(0), "hipSetDevice");
  for (int warm_up = 0; warm_up < 3; ++warm_up) replay_us();
  std::vector<double> times;
  for (int i = 0; i < replays; ++i) times.push_back(replay_us() / runs_);
  return measure::median(times);
}

void RotatedRuns::make_sets(int count, const templates::Operator& op, const db::Problem& problem,
                            const db::Config& config, const OperandData& data) {
  const auto sets = static_cast<std::size_t>(count);
  std::vector<std::size_t> strides;
  const auto allocate = [&](std::size_t bytes) {
    strides.push_back((bytes + alignment - 1) / alignment * alignment);
    buffers_.emplace_back(api_, strides.back() * sets);
    return static_cast<std::byte*>(buffers_.back().get());
  };
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const std::size_t bytes = templates::bytes_for(specs_[i].dtype, specs_[i].count());
    std::byte* begin = allocate(bytes);
    const templates::HostTensor& exact = data.exact[i];
    // What lies in another order than rows is random numbers all the same.
    if (exact.bytes().size() != bytes) {
      fill_randomly(api_, begin, strides.back() * sets, specs_[i].dtype);
      continue;
    }
    for (std::size_t set = 0; set < sets; ++set) {
      hip::check(api_, api_.hipMemcpy(begin + set * strides.back(), exact.bytes().data(), bytes, hipMemcpyHostToDevice),
                 "hipMemcpy of operand " + specs_[i].name);
    }
  }
  allocate(static_cast<std::size_t>(op.workspace_bytes(problem, config)));
  const templates::Scalars scalars = op.default_scalars(problem);
  for (std::size_t set = 0; set < sets; ++set) {
    std::vector<void*> addresses;
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      addresses.push_back(static_cast<std::byte*>(buffers_[i].get()) + set * strides[i]);
    void* const workspace = addresses.back();
    addresses.pop_back();
    const std::vector<templates::View> views = templates::dense_views(specs_, addresses);
    const templates::Call call{&problem, views, &scalars, workspace};
    launches_.emplace_back(api_, module_, op.launches(config, call));
  }
}

void RotatedRuns::capture(int repeats) {
  hip::check(api_, api_.hipStreamBeginCapture(stream_.get(), hipStreamCaptureModeThreadLocal), "hipStreamBeginCapture");
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (const measure::LoadedLaunches& launches : launches_) launches.enqueue(stream_.get());
  }
  hipGraph_t captured = nullptr;
  hip::check(api_, api_.hipStreamEndCapture(stream_.get(), &captured), "hipStreamEndCapture");
  const hip::Graph graph(api_, captured);
  hipGraphExec_t executable = nullptr;
  hip::check(api_, api_.hipGraphInstantiate(&executable, graph.get(), nullptr, nullptr, 0), "hipGraphInstantiate");
  graph_ = hip::GraphExec(api_, executable);
  runs_ = repeats * sets();
}

double RotatedRuns::replay_us() {
  hip::check(api_, api_.hipEventRecord(begin_.get(), stream_.get()), "hipEventRecord");
  hip::check(api_, api_.hipGraphLaunch(graph_.get(), stream_.get()), "hipGraphLaunch");
  hip::check(api_, api_.hipEventRecord(end_.get(), stream_.get()), "hipEventRecord");
  hip::check(api_, api_.hipEventSynchronize(end_.get()), "hipEventSynchronize after the kernel");
  float milliseconds = 0;
  hip::check(api_, api_.hipEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "hipEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e3;
}

}  // namespace wavetune::gpu_bench
