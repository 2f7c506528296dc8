#include <algorithm>
#include <map>
#include <utility>

#include "db/base/error.h"
#include "search/measure/candidate.h"
#include "search/measure/loaded_launches.h"

namespace wavetune::measure {
namespace {

class DeviceCandidate : public Candidate {
 public:
  DeviceCandidate(const hip::Provider& provider, OperandPool& pool, const db::Config& config,
                  std::span<const std::byte> code)
      : provider_(provider),
        api_(provider.api()),
        pool_(pool),
        stream_((use_device(), hip::make_stream(api_))),
        begin_(hip::make_event(api_)),
        end_(hip::make_event(api_)),
        module_(hip::load_module(api_, code)) {
    const PreparedProblem& prepared = pool.prepared();
    for (std::size_t set = 0; set < pool.sets(); ++set) {
      const std::vector<templates::View> views = pool.views(set);
      const templates::Call call{&prepared.problem, views, &prepared.scalars, pool.workspace()};
      launches_.emplace_back(api_, module_, prepared.op->launches(config, call));
    }
  }

  std::optional<std::string> over_limits() const override {
    return measure::over_limits(launches_.front().launches(),
                                provider_.devices()[static_cast<std::size_t>(pool_.device())].limits);
  }

  db::Resources resources() const override {
    // The CPU has no register file to fill, and its figures would look like one.
    if (provider_.kind() == hip::ProviderKind::cpu) return {};
    return launches_.front().resources();
  }

  void enqueue() override { launches_.front().enqueue(stream_.get()); }
  void wait() override {
    hip::check(api_, api_.hipStreamSynchronize(stream_.get()), "hipStreamSynchronize after the kernel");
  }

  int sets() const override { return static_cast<int>(launches_.size()); }

  void begin_timed(int count) override {
    // Samples of fewer runs than there are sets begin where the last one ended.
    const int first = count < sets() ? next_set_ : 0;
    next_set_ = first + count < sets() ? first + count : 0;
    const hip::GraphExec* graph = count > 1 ? graph_of(first, count) : nullptr;
    hip::check(api_, api_.hipEventRecord(begin_.get(), stream_.get()), "hipEventRecord");
    if (graph != nullptr) {
      hip::check(api_, api_.hipGraphLaunch(graph->get(), stream_.get()), "hipGraphLaunch");
    } else {
      enqueue_many(first, count);
    }
    hip::check(api_, api_.hipEventRecord(end_.get(), stream_.get()), "hipEventRecord");
  }

  double end_timed() override {
    hip::check(api_, api_.hipEventSynchronize(end_.get()), "hipEventSynchronize after the kernel");
    float milliseconds = 0;
    hip::check(api_, api_.hipEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "hipEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e3;
  }

  std::optional<std::string> damage() override { return pool_.damage(stream_.get()); }
  std::vector<std::vector<templates::HostTensor>> results() override { return {pool_.results()}; }

 private:
  void use_device() { hip::check(api_, api_.hipSetDevice(pool_.device()), "hipSetDevice"); }

  void enqueue_many(int first, int count) {
    for (int i = first; i < first + count; ++i)
      launches_[static_cast<std::size_t>(i) % launches_.size()].enqueue(stream_.get());
  }

  /// `count` runs from set `first` on as a graph, as the engine replays them; nothing when the driver does not capture.
  const hip::GraphExec* graph_of(int first, int count) {
    if (!graphs_work_) return nullptr;
    if (const auto found = graphs_.find({first, count}); found != graphs_.end()) return &found->second;
    if (api_.hipStreamBeginCapture(stream_.get(), hipStreamCaptureModeThreadLocal) != hipSuccess) {
      graphs_work_ = false;
      return nullptr;
    }
    enqueue_many(first, count);
    return &graphs_.emplace(std::pair{first, count}, hip::end_capture(api_, stream_.get())).first->second;
  }

  const hip::Provider& provider_;
  const hip::Api& api_;
  OperandPool& pool_;
  hip::Stream stream_;
  hip::Event begin_, end_;
  hip::Module module_;
  std::vector<LoadedLaunches> launches_;  ///< one a set
  int next_set_ = 0;
  bool graphs_work_ = true;
  std::map<std::pair<int, int>, hip::GraphExec> graphs_;  ///< by first set and number of runs
};

}  // namespace

std::unique_ptr<Candidate> load_candidate(const hip::Provider& provider, OperandPool& pool, const db::Config& config,
                                          std::span<const std::byte> code) {
  return std::make_unique<DeviceCandidate>(provider, pool, config, code);
}

std::optional<std::string> over_limits(std::span<const templates::Launch> launches,
                                       const templates::DeviceLimits& limits) {
  for (const templates::Launch& launch : launches) {
    const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
    if (threads == 0 || threads > static_cast<std::uint64_t>(limits.max_block_threads)) {
      return fmt::format("{} has {} threads a block; the device takes 1 to {}", launch.kernel, threads,
                         limits.max_block_threads);
    }
    if (launch.lds_bytes > static_cast<std::uint32_t>(limits.lds_bytes)) {
      return fmt::format("{} needs {} bytes of LDS; the device has {}", launch.kernel, launch.lds_bytes,
                         limits.lds_bytes);
    }
  }
  return std::nullopt;
}

}  // namespace wavetune::measure
