#include "runtime/comm/communicator.h"

#include <gtest/gtest.h>

#include <numeric>

#include "runtime/hip/provider.h"

namespace wavetune::comm {
namespace {

constexpr int ranks = 4;
constexpr std::size_t count = 1000;
constexpr std::size_t bytes = count * sizeof(float);

/// Whether the devices' memories can be read directly is the provider's to say; the test turns it off to see the other
/// path.
hipError_t no_peer_access(int* accessible, int, int) {
  *accessible = 0;
  return hipSuccess;
}

class CommunicatorTest : public testing::TestWithParam<PeerPath> {
 protected:
  CommunicatorTest() : provider_(hip::load_provider(hip::parse_device_spec("cpu:4"))), api_(provider_->api()) {
    if (GetParam() == PeerPath::staged) api_.hipDeviceCanAccessPeer = no_peer_access;
    for (int rank = 0; rank < ranks; ++rank) {
      use(rank);
      streams_.push_back(hip::make_stream(api_));
      partials_.emplace_back(api_, bytes);
      results_.emplace_back(api_, ranks * bytes);
    }
  }
  void use(int rank) { hip::check(api_, api_.hipSetDevice(rank), "hipSetDevice"); }
  std::vector<Rank> group() const {
    std::vector<Rank> members;
    for (int rank = 0; rank < ranks; ++rank) members.push_back({rank, streams_[rank].get()});
    return members;
  }
  void wait() {
    for (int rank = 0; rank < ranks; ++rank) {
      use(rank);
      hip::check(api_, api_.hipStreamSynchronize(streams_[rank].get()), "hipStreamSynchronize");
    }
  }

  std::shared_ptr<const hip::Provider> provider_;
  hip::Api api_;
  std::vector<hip::Stream> streams_;
  std::vector<hip::DeviceBuffer> partials_, results_;
};

/// Many rounds without a host wait: in each, every rank writes its partial and reads all others'. A missing dependency
/// shows as a value of another round.
TEST_P(CommunicatorTest, EveryRankReadsWhatEveryOtherWroteInThisRound) {
  Communicator communicator(api_, group(), bytes);
  EXPECT_EQ(communicator.path(0, 1), GetParam());
  EXPECT_EQ(communicator.path(2, 2), PeerPath::direct);
  std::vector<void*> addresses;
  for (const hip::DeviceBuffer& partial : partials_) addresses.push_back(partial.get());
  for (int round = 1; round <= 50; ++round) {
    for (int rank = 0; rank < ranks; ++rank) {
      use(rank);
      hip::check(api_, api_.hipMemsetAsync(addresses[rank], round * ranks + rank, bytes, streams_[rank].get()),
                 "memset");
    }
    communicator.exchange(addresses, bytes);
    for (int rank = 0; rank < ranks; ++rank) {
      use(rank);
      for (int owner = 0; owner < ranks; ++owner) {
        hip::check(api_,
                   api_.hipMemcpyAsync(static_cast<std::byte*>(results_[rank].get()) + owner * bytes,
                                       communicator.readable_address(rank, owner, addresses[owner]), bytes,
                                       hipMemcpyDeviceToDevice, streams_[rank].get()),
                   "memcpy");
      }
    }
    // The next round writes the same buffers: as in the engine, a second exchange lies between.
    communicator.exchange(addresses, bytes);
    if (round % 10 != 0) continue;
    wait();
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<unsigned char> got(ranks * bytes);
      hip::check(api_, api_.hipMemcpy(got.data(), results_[rank].get(), got.size(), hipMemcpyDeviceToHost), "memcpy");
      for (int owner = 0; owner < ranks; ++owner) {
        for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(got[owner * bytes + i], round * ranks + owner) << rank;
      }
    }
  }
}

TEST_P(CommunicatorTest, GathersToTheFirstRankInStreamOrder) {
  Communicator communicator(api_, group(), bytes);
  std::vector<float> gathered(ranks * count);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), static_cast<float>(rank * count));
    use(rank);
    hip::check(
        api_,
        api_.hipMemcpyAsync(partials_[rank].get(), values.data(), bytes, hipMemcpyHostToDevice, streams_[rank].get()),
        "memcpy");
    communicator.gather_to_first(rank, partials_[rank].get(), static_cast<std::byte*>(results_[0].get()) + rank * bytes,
                                 bytes);
    wait();
  }
  use(0);
  hip::check(api_, api_.hipMemcpy(gathered.data(), results_[0].get(), ranks * bytes, hipMemcpyDeviceToHost), "memcpy");
  for (std::size_t i = 0; i < gathered.size(); ++i) ASSERT_EQ(gathered[i], static_cast<float>(i));
}

INSTANTIATE_TEST_SUITE_P(Paths, CommunicatorTest, testing::Values(PeerPath::direct, PeerPath::staged),
                         [](const auto& param) { return param.param == PeerPath::direct ? "direct" : "staged"; });

}  // namespace
}  // namespace wavetune::comm
