#include "search/measure/workbench.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "db/base/error.h"
#include "runtime/hip/handles.h"
#include "search/measure/contest.h"

namespace wavetune::measure {
namespace {

using Clock = std::chrono::steady_clock;
using templates::HostTensor;

// Clocks fall within moments of idleness; a device that had nothing to do for so long is warmed up for longer.
constexpr std::chrono::milliseconds soon_cold{50};
constexpr double cold_warm_up_us = 10'000;
constexpr double most_warm_up_runs = 64;  // at once, beside the compare
// Deviations seen by the device are rounded: what is so near the tolerance is decided on the host.
constexpr double surely_within = 0.999;

bool sanitizing() {
  const char* value = std::getenv("WAVETUNE_CPU_SANITIZE");
  return value != nullptr && *value != '\0';
}

MeasureResult ended(db::Outcome outcome, std::string error) {
  MeasureResult result;
  result.outcome = outcome;
  result.error = std::move(error);
  return result;
}

}  // namespace

/// Counts the time in which the device has copies or kernels to work on.
class Workbench::Busy {
 public:
  explicit Busy(Workbench& bench) : bench_(bench) {}
  ~Busy() {
    bench_.last_work_ = Clock::now();
    bench_.busy_us_ += std::chrono::duration<double, std::micro>(bench_.last_work_ - begin_).count();
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  Workbench& bench_;
  Clock::time_point begin_ = Clock::now();
};

std::size_t rotate_bytes(const hip::Provider& provider, int device) {
  // The caches of the CPU are shared with everything else anyhow.
  if (provider.kind() == hip::ProviderKind::cpu) return 0;
  // The largest cache of the devices served is the Infinity Cache of MI355X (256 MB), of which no attribute tells.
  constexpr std::size_t twice_the_largest_cache = std::size_t{512} << 20;
  if (provider.kind() == hip::ProviderKind::amd) return twice_the_largest_cache;
  int l2_bytes = 0;
  if (provider.api().hipDeviceGetAttribute(&l2_bytes, hipDeviceAttributeL2CacheSize, device) != hipSuccess ||
      l2_bytes <= 0)
    return twice_the_largest_cache;
  return std::size_t{4} * static_cast<std::size_t>(l2_bytes) + (std::size_t{16} << 20);
}

Workbench::Workbench(const hip::Provider& provider, int device)
    : provider_(provider), device_(device), watch_(make_clock_probe(provider, device)) {
  hip::check(provider_.api(), provider_.api().hipSetDevice(device_), "hipSetDevice");
  if (!device_works()) {
    fail(ErrorKind::device,
         "device {} ({}) does not copy four bytes there and back: it is not usable now; see 'wavetune doctor' and the "
         "driver's log",
         device_, provider_.devices()[static_cast<std::size_t>(device_)].name);
  }
  shelf_ = make_shelf();
}

bool Workbench::device_works() {
  const hip::Api& api = provider_.api();
  try {
    (void)api.hipGetLastError();
    if (api.hipDeviceSynchronize() != hipSuccess) return false;
    const hip::DeviceBuffer buffer(api, 4);
    const std::array<unsigned char, 4> sent{1, 2, 3, 4};
    std::array<unsigned char, 4> got{};
    return api.hipMemcpy(buffer.get(), sent.data(), sent.size(), hipMemcpyHostToDevice) == hipSuccess &&
           api.hipMemcpy(got.data(), buffer.get(), got.size(), hipMemcpyDeviceToHost) == hipSuccess && got == sent;
  } catch (const Error&) {
    return false;
  }
}

void Workbench::use_checks(std::span<const std::byte> code) {
  // Under a sanitizer the red zones of single allocations are the guards, and everything is looked at on the host.
  if (sanitizing()) return;
  shelf_.reset();
  checks_ = std::make_unique<DeviceChecks>(provider_.api(), code);
  shelf_ = make_shelf();
}

std::unique_ptr<ProblemShelf> Workbench::make_shelf() const {
  const PoolOptions options{device_, !sanitizing(), rotate_bytes(provider_, device_), checks_.get()};
  return std::make_unique<ProblemShelf>(provider_, options);
}

Workbench::Selection Workbench::set_problem(std::shared_ptr<const PreparedProblem> prepared) {
  busy_us_ = 0;
  tidy_up();
  Selection selection;
  try {
    const Busy reference(*this);
    shelf_->select(std::move(prepared));
  } catch (const Error&) {
    device_lost_ = !device_works();
    throw;
  }
  Expectation* const expectation = shelf_->expectation();
  if (expectation != nullptr && expectation->disagreement()) {
    selection.note = fmt::format("the reference of {} is computed on the host, which takes long: {}",
                                 problem()->problem.key(), *expectation->disagreement());
    expectation->compute_on_host();
  }
  selection.busy_us = busy_us_;
  return selection;
}

/// `all_reduce` is measured across devices where there are enough of them.
bool Workbench::is_collective() const {
  return problem()->op->name() == "all_reduce" &&
         problem()->problem.dim_or("ranks", 1) <= static_cast<std::int64_t>(provider_.devices().size());
}

std::unique_ptr<Candidate> Workbench::load(const MeasureRequest& request) {
  shelf_->begin();
  pool_ = nullptr;
  if (is_collective()) return load_collective(provider_, *problem(), request.config, request.code, !sanitizing());
  pool_ = &shelf_->pool_for(std::span(&request.config, 1));
  {
    const Busy copies(*this);
    pool_->arrange_for(request.config);
  }
  return load_candidate(provider_, *pool_, request.config, request.code);
}

/// The largest deviation of what one run left behind, in units of the tolerance; nothing when the host must look.
std::optional<double> Workbench::worst_on_device() {
  Expectation* const expectation = shelf_->expectation();
  if (expectation == nullptr || pool_ == nullptr) return std::nullopt;
  const Busy comparing(*this);
  const double worst = expectation->worst(*pool_);
  return worst < surely_within ? std::optional(worst) : std::nullopt;
}

std::optional<std::string> Workbench::damage_by(Candidate& candidate) {
  const Busy looking(*this);
  return candidate.damage();
}

/// Compares what one run left behind; fills max_error and, when it is wrong, outcome and error. Where the host has to
/// compare, the device warms up meanwhile: `warm_up` runs, whose time is given back.
double Workbench::verify(Candidate& candidate, int warm_up, MeasureResult& result) {
  if (auto damage = damage_by(candidate)) {
    result.outcome = db::Outcome::wrong;
    result.error = *damage;
    return 0;
  }
  if (const std::optional<double> worst = worst_on_device()) {
    result.max_error = *worst;
    return 0;
  }
  std::vector<std::vector<HostTensor>> results;
  {
    const Busy copies(*this);
    results = candidate.results();
  }
  if (warm_up > 0) candidate.begin_timed(warm_up);
  const PreparedProblem& prepared = *problem();
  std::vector<HostTensor> brought;
  if (prepared.sample) brought = shelf_->expectation()->on_host();
  const std::vector<HostTensor>& expected = prepared.sample ? brought : prepared.expected;
  for (const std::vector<HostTensor>& got : results) {
    const templates::Comparison comparison = prepared.op->compare(prepared.problem, got, expected);
    result.max_error = std::max(result.max_error, comparison.worst);
    if (comparison.passes()) continue;
    result.outcome = db::Outcome::wrong;
    result.error = comparison.message;
    break;
  }
  if (warm_up <= 0) return 0;
  const double took = candidate.end_timed();
  busy_us_ += took;
  last_work_ = Clock::now();
  return took;
}

double Workbench::run(Candidate& candidate, int count) {
  candidate.begin_timed(count);
  watch_.look();
  const double took = candidate.end_timed();
  last_work_ = Clock::now();
  busy_us_ += took;
  return took;
}

TimedKernel Workbench::timed(Candidate& candidate) {
  return {[this, &candidate](int count) { return run(candidate, count); }, candidate.sets(),
          [this] { return watch_.slowed_down(); }};
}

MeasureResult Workbench::measure(const MeasureRequest& request) {
  MeasureResult result;
  busy_us_ = 0;
  tidy_up();
  watch_.begin();
  const bool cold = provider_.kind() != hip::ProviderKind::cpu && Clock::now() - last_work_ > soon_cold;
  try {
    candidate_ = load(request);
    if (auto reason = candidate_->over_limits()) return ended(db::Outcome::resource_limit, *reason);
    result.resources = candidate_->resources();
    candidate_->enqueue();
  } catch (const Error& error) {
    // A driver's errors stay when the device is gone: then all that comes after would be blamed for this.
    device_lost_ = !device_works();
    return ended(device_lost_ ? db::Outcome::fault : db::Outcome::launch_error, error.what());
  }
  try {
    const double before_us = busy_us_;
    {
      const Busy running(*this);
      candidate_->wait();
    }
    TimingLimits limits = request.timing;
    if (cold) limits.warm_up_us = std::max(limits.warm_up_us, cold_warm_up_us);
    const double first_us = std::max(1.0, busy_us_ - before_us);
    const int warm_up = provider_.kind() == hip::ProviderKind::cpu
                            ? 0  // the compare needs its cores
                            : static_cast<int>(std::min(limits.warm_up_us / first_us, most_warm_up_runs));
    limits.warm_up_us -= verify(*candidate_, warm_up, result);
    if (result.outcome == db::Outcome::ok) {
      // Outputs keep what the verification left; inouts go on changing, which no operator's time depends on.
      TimingResult timing = time_kernel(timed(*candidate_), limits, request.incumbent_us);
      result.samples_us = std::move(timing.samples_us);
      result.median_us = timing.median_us;
      result.state = watch_.state(timing.retaken);
      // A kernel that only sometimes goes astray (a race, an index beyond its operand) shows it after many runs.
      if (auto damage = damage_by(*candidate_))
        result = ended(db::Outcome::wrong, *damage + ", after repeated launches");
    }
  } catch (const Error& error) {
    result = ended(db::Outcome::fault, error.what());
    device_lost_ = true;
  }
  result.busy_us = busy_us_;
  return result;
}

std::vector<MeasureResult> Workbench::contest(const ContestRequest& request) {
  busy_us_ = 0;
  tidy_up();
  watch_.begin();
  shelf_->begin();
  pool_ = nullptr;
  std::vector<MeasureResult> results(request.entries.size());
  const auto all_ended = [&](db::Outcome outcome, const std::string& error) {
    for (MeasureResult& result : results) result = ended(outcome, error);
    return results;
  };
  try {
    // One pool for all that read their operands in the same order; its workspace serves the largest of them.
    std::vector<OperandPool*> pools;
    std::vector<std::vector<db::Config>> groups;
    std::vector<std::size_t> group_of;
    for (const ContestEntry& entry : request.entries) {
      std::size_t at = 0;
      while (at < groups.size() && !shelf_->arranged_alike(groups[at].front(), entry.config)) ++at;
      if (at == groups.size()) groups.emplace_back();
      groups[at].push_back(entry.config);
      group_of.push_back(at);
    }
    if (!is_collective()) {
      for (const std::vector<db::Config>& group : groups) {
        pools.push_back(&shelf_->pool_for(group));
        const Busy copies(*this);
        pools.back()->arrange_for(group);
      }
    }
    std::vector<std::unique_ptr<Candidate>> candidates;
    std::vector<TimedKernel> kernels;
    for (std::size_t i = 0; i < request.entries.size(); ++i) {
      const ContestEntry& entry = request.entries[i];
      candidates.push_back(is_collective()
                               ? load_collective(provider_, *problem(), entry.config, entry.code, !sanitizing())
                               : load_candidate(provider_, *pools[group_of[i]], entry.config, entry.code));
      results[i].resources = candidates.back()->resources();
      kernels.push_back(timed(*candidates.back()));
    }
    std::vector<TimingResult> timings = time_in_turns(kernels, request.timing, request.seed);
    for (std::size_t i = 0; i < results.size(); ++i) {
      results[i].samples_us = std::move(timings[i].samples_us);
      results[i].median_us = timings[i].median_us;
      results[i].state = watch_.state(timings[i].retaken);
    }
    for (const auto& candidate : candidates) {
      if (const auto damage = candidate->damage())
        return all_ended(db::Outcome::wrong, *damage + ", among the finalists");
    }
  } catch (const Error& error) {
    device_lost_ = !device_works();
    return all_ended(device_lost_ ? db::Outcome::fault : db::Outcome::launch_error, error.what());
  }
  results.front().busy_us = busy_us_;
  return results;
}

}  // namespace wavetune::measure
