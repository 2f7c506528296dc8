#include <algorithm>
#include <chrono>
#include <utility>

#include "db/base/error.h"
#include "runtime/comm/communicator.h"
#include "search/measure/candidate.h"
#include "search/measure/loaded_launches.h"

namespace wavetune::measure {
namespace {

/// What one member of the group has on its device. `pool` has all operands; of the inputs only the rank's own is read,
/// the others are read where their ranks hold them.
struct Member {
  hip::Stream stream;
  hip::Module module;
  std::unique_ptr<OperandPool> pool;
  std::unique_ptr<LoadedLaunches> launches;
};

class CollectiveCandidate : public Candidate {
 public:
  CollectiveCandidate(const hip::Provider& provider, const PreparedProblem& prepared, const db::Config& config,
                      std::span<const std::byte> code, bool guards)
      : provider_(provider),
        api_(provider.api()),
        prepared_(prepared),
        ranks_(static_cast<int>(prepared.problem.dim("ranks"))) {
    std::vector<comm::Rank> group;
    for (int rank = 0; rank < ranks_; ++rank) {
      use(rank);
      Member& member = members_.emplace_back();
      member.stream = hip::make_stream(api_);
      member.module = hip::load_module(api_, code);
      member.pool = std::make_unique<OperandPool>(provider, prepared, PoolOptions{rank, guards});
      member.pool->arrange_for(config);
      group.push_back({rank, member.stream.get()});
    }
    const templates::OperandSpec& partial = prepared.specs.front();
    partial_bytes_ = templates::bytes_for(partial.dtype, partial.count());
    communicator_ = std::make_unique<comm::Communicator>(api_, std::move(group), partial_bytes_);
    for (std::size_t rank = 0; rank < members_.size(); ++rank)
      partials_.push_back(members_[rank].pool->views(0)[rank].data);
    for (int rank = 0; rank < ranks_; ++rank) load_launches(rank, config);
  }

  std::optional<std::string> over_limits() const override {
    return measure::over_limits(members_.front().launches->launches(), provider_.devices().front().limits);
  }
  db::Resources resources() const override {
    if (provider_.kind() == hip::ProviderKind::cpu) return {};
    return members_.front().launches->resources();
  }

  void enqueue() override {
    communicator_->exchange(partials_, partial_bytes_);
    for (int rank = 0; rank < ranks_; ++rank) {
      use(rank);
      const Member& member = members_[static_cast<std::size_t>(rank)];
      member.launches->enqueue(member.stream.get());
    }
  }

  void wait() override {
    for (int rank = 0; rank < ranks_; ++rank) {
      use(rank);
      hip::check(api_, api_.hipStreamSynchronize(members_[static_cast<std::size_t>(rank)].stream.get()),
                 "hipStreamSynchronize after the collective");
    }
  }

  void begin_timed(int count) override {
    // Events of different devices cannot be subtracted, so this is the host's clock around the whole group; the
    // launches of one sample are many enough to hide its one synchronisation.
    begin_ = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) enqueue();
  }

  double end_timed() override {
    wait();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin_).count();
  }

  std::vector<std::vector<templates::HostTensor>> results() override {
    std::vector<std::vector<templates::HostTensor>> all;
    for (int rank = 0; rank < ranks_; ++rank) {
      use(rank);
      all.push_back(members_[static_cast<std::size_t>(rank)].pool->results());
    }
    return all;
  }

  std::optional<std::string> damage() override {
    wait();
    for (int rank = 0; rank < ranks_; ++rank) {
      use(rank);
      const Member& member = members_[static_cast<std::size_t>(rank)];
      if (auto damage = member.pool->damage(member.stream.get())) return damage;
    }
    return std::nullopt;
  }

 private:
  void use(int rank) const { hip::check(api_, api_.hipSetDevice(rank), "hipSetDevice"); }

  void load_launches(int rank, const db::Config& config) {
    use(rank);
    Member& member = members_[static_cast<std::size_t>(rank)];
    std::vector<templates::View> views = member.pool->views(0);
    for (int owner = 0; owner < ranks_; ++owner) {
      void*& data = views[static_cast<std::size_t>(owner)].data;
      data = communicator_->readable_address(rank, owner, partials_[static_cast<std::size_t>(owner)]);
    }
    const templates::Call call{&prepared_.problem, views, &prepared_.scalars, member.pool->workspace()};
    member.launches = std::make_unique<LoadedLaunches>(api_, member.module, prepared_.op->launches(config, call));
  }

  const hip::Provider& provider_;
  const hip::Api& api_;
  const PreparedProblem& prepared_;
  int ranks_;
  std::vector<Member> members_;
  std::size_t partial_bytes_ = 0;
  std::vector<void*> partials_;  ///< rank r's own partial result
  std::unique_ptr<comm::Communicator> communicator_;
  std::chrono::steady_clock::time_point begin_{};  ///< of the runs being timed
};

}  // namespace

std::unique_ptr<Candidate> load_collective(const hip::Provider& provider, const PreparedProblem& prepared,
                                           const db::Config& config, std::span<const std::byte> code, bool guards) {
  const auto ranks = static_cast<std::size_t>(prepared.problem.dim("ranks"));
  if (ranks > provider.devices().size()) {
    fail(ErrorKind::device, "{} needs {} devices and {} are shown", prepared.problem.key(), ranks,
         provider.devices().size());
  }
  return std::make_unique<CollectiveCandidate>(provider, prepared, config, code, guards);
}

}  // namespace wavetune::measure
