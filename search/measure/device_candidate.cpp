#include <algorithm>
#include <map>
#include <utility>

#include "db/base/error.h"
#include "search/measure/candidate.h"
#include "search/measure/loaded_launches.h"
#include "search/measure/operand_set.h"

namespace wavetune::measure {
namespace {

// More sets than this cost memory and bring nothing: the largest cache (256 MB) is passed by then for any operand that
// matters.
constexpr std::size_t most_sets = 16;

class DeviceCandidate : public Candidate {
 public:
  DeviceCandidate(const hip::Provider& provider, const PreparedProblem& prepared, const db::Config& config,
                  std::span<const std::byte> code, const CandidateOptions& options)
      : provider_(provider),
        api_(provider.api()),
        prepared_(prepared),
        device_(options.device),
        stream_((use_device(), hip::make_stream(api_))),
        begin_(hip::make_event(api_)),
        end_(hip::make_event(api_)),
        module_(hip::load_module(api_, code)) {
    arrange_inputs(config);
    const std::int64_t workspace = prepared.op->workspace_bytes(prepared.problem, config);
    add_set(config, workspace, options.guards);
    const std::size_t bytes = std::max<std::size_t>(1, sets_.front()->bytes());
    const std::size_t wanted = std::clamp<std::size_t>((options.rotate_bytes + bytes - 1) / bytes, 1, most_sets);
    while (sets_.size() < wanted) add_set(config, workspace, options.guards);
  }

  std::optional<std::string> over_limits() const override {
    return measure::over_limits(launches_.front().launches(),
                                provider_.devices()[static_cast<std::size_t>(device_)].limits);
  }

  db::Resources resources() const override {
    // The CPU has no register file to fill, and its figures would look like one.
    if (provider_.kind() == hip::ProviderKind::cpu) return {};
    return launches_.front().resources();
  }

  void reset() override {
    for (const auto& set : sets_) set->reset(arranged_.empty() ? prepared_.inputs : arranged_);
  }
  void enqueue() override { launches_.front().enqueue(stream_.get()); }
  void wait() override {
    hip::check(api_, api_.hipStreamSynchronize(stream_.get()), "hipStreamSynchronize after the kernel");
  }

  double timed(int count) override {
    const hip::GraphExec* graph = count > 1 ? graph_of(count) : nullptr;
    hip::check(api_, api_.hipEventRecord(begin_.get(), stream_.get()), "hipEventRecord");
    if (graph != nullptr) {
      hip::check(api_, api_.hipGraphLaunch(graph->get(), stream_.get()), "hipGraphLaunch");
    } else {
      enqueue_many(count);
    }
    hip::check(api_, api_.hipEventRecord(end_.get(), stream_.get()), "hipEventRecord");
    hip::check(api_, api_.hipEventSynchronize(end_.get()), "hipEventSynchronize after the kernel");
    float milliseconds = 0;
    hip::check(api_, api_.hipEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "hipEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e3;
  }

  std::vector<std::vector<templates::HostTensor>> results() const override { return {sets_.front()->download()}; }

  std::optional<std::string> broken_guard() const override {
    for (const auto& set : sets_) {
      if (auto broken = set->broken_guard()) return broken;
    }
    return std::nullopt;
  }

 private:
  void use_device() { hip::check(api_, api_.hipSetDevice(device_), "hipSetDevice"); }

  void add_set(const db::Config& config, std::int64_t workspace, bool guards) {
    sets_.push_back(std::make_unique<OperandSet>(api_, specs_, workspace, guards));
    const std::vector<templates::View> views = sets_.back()->views();
    const templates::Call call{&prepared_.problem, views, &prepared_.scalars, sets_.back()->workspace()};
    launches_.emplace_back(api_, module_, prepared_.op->launches(config, call));
  }

  /// Inputs in the order that `config` reads them in; nothing is copied when all are rows.
  void arrange_inputs(const db::Config& config) {
    const templates::Operator& op = *prepared_.op;
    specs_ = templates::arranged_operands(op, prepared_.problem, config);
    const auto order = [&](std::size_t i) { return op.arrangement(prepared_.problem, config, i); };
    bool all_rows = true;
    for (std::size_t i = 0; i < specs_.size(); ++i) all_rows &= order(i) == templates::Arrangement::rows;
    if (all_rows) return;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      arranged_.push_back(templates::arrange(prepared_.specs[i], order(i), prepared_.inputs[i]));
    }
  }

  void enqueue_many(int count) {
    for (int i = 0; i < count; ++i) launches_[static_cast<std::size_t>(i) % launches_.size()].enqueue(stream_.get());
  }

  /// `count` runs as a graph, as the engine replays them; nothing when the driver does not capture.
  const hip::GraphExec* graph_of(int count) {
    if (!graphs_work_) return nullptr;
    if (const auto found = graphs_.find(count); found != graphs_.end()) return &found->second;
    if (api_.hipStreamBeginCapture(stream_.get(), hipStreamCaptureModeThreadLocal) != hipSuccess) {
      graphs_work_ = false;
      return nullptr;
    }
    enqueue_many(count);
    hipGraph_t raw = nullptr;
    hip::check(api_, api_.hipStreamEndCapture(stream_.get(), &raw), "hipStreamEndCapture");
    const hip::Graph graph(api_, raw);
    hipGraphExec_t executable = nullptr;
    hip::check(api_, api_.hipGraphInstantiate(&executable, graph.get(), nullptr, nullptr, 0), "hipGraphInstantiate");
    return &graphs_.emplace(count, hip::GraphExec(api_, executable)).first->second;
  }

  const hip::Provider& provider_;
  const hip::Api& api_;
  const PreparedProblem& prepared_;
  int device_;
  hip::Stream stream_;
  hip::Event begin_, end_;
  hip::Module module_;
  std::vector<templates::OperandSpec> specs_;
  std::vector<templates::HostTensor> arranged_;  ///< empty: prepared_.inputs as they are
  std::vector<std::unique_ptr<OperandSet>> sets_;
  std::vector<LoadedLaunches> launches_;  ///< one a set
  bool graphs_work_ = true;
  std::map<int, hip::GraphExec> graphs_;  ///< by number of runs
};

}  // namespace

std::unique_ptr<Candidate> load_candidate(const hip::Provider& provider, const PreparedProblem& prepared,
                                          const db::Config& config, std::span<const std::byte> code,
                                          const CandidateOptions& options) {
  return std::make_unique<DeviceCandidate>(provider, prepared, config, code, options);
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
