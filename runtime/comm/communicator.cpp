#include "runtime/comm/communicator.h"

#include "db/base/error.h"

namespace wavetune::comm {

Communicator::Communicator(const hip::Api& api, std::vector<Rank> ranks, std::size_t largest_partial_bytes)
    : api_(api), ranks_(std::move(ranks)) {
  const int count = size();
  paths_.assign(ranks_.size() * ranks_.size(), PeerPath::direct);
  staging_.resize(paths_.size());
  for (int reader = 0; reader < count; ++reader) {
    use(reader);
    ready_.push_back(hip::make_event(api_, hipEventDisableTiming));
    for (int owner = 0; owner < count; ++owner) {
      const int reader_device = ranks_[reader].device, owner_device = ranks_[owner].device;
      if (reader_device == owner_device) continue;
      int accessible = 0;
      hip::check(api_, api_.hipDeviceCanAccessPeer(&accessible, reader_device, owner_device), "hipDeviceCanAccessPeer");
      if (accessible != 0) {
        const hipError_t code = api_.hipDeviceEnablePeerAccess(owner_device, 0);
        if (code != hipErrorPeerAccessAlreadyEnabled)
          hip::check(api_, code, "hipDeviceEnablePeerAccess");
        else
          (void)api_.hipGetLastError();  // another group of this process enabled it: not an error to be found later
      } else {
        paths_[pair_index(reader, owner)] = PeerPath::staged;
        staging_[pair_index(reader, owner)] = hip::DeviceBuffer(api_, largest_partial_bytes);
      }
    }
  }
}

void* Communicator::readable_address(int reader, int owner, void* owner_address) const {
  return path(reader, owner) == PeerPath::direct ? owner_address : staging_[pair_index(reader, owner)].get();
}

void Communicator::exchange(std::span<void* const> partials, std::size_t bytes) {
  for (int rank = 0; rank < size(); ++rank) {
    use(rank);
    hip::check(api_, api_.hipEventRecord(ready_[rank].get(), ranks_[rank].stream), "hipEventRecord");
  }
  for (int reader = 0; reader < size(); ++reader) {
    use(reader);
    for (int owner = 0; owner < size(); ++owner) {
      if (owner == reader) continue;
      hip::check(api_, api_.hipStreamWaitEvent(ranks_[reader].stream, ready_[owner].get(), 0), "hipStreamWaitEvent");
    }
    for (int owner = 0; owner < size(); ++owner) {
      if (path(reader, owner) == PeerPath::direct) continue;
      const hip::DeviceBuffer& staging = staging_[pair_index(reader, owner)];
      if (bytes > staging.bytes()) {
        fail(ErrorKind::internal, "all-reduce of {} bytes: staging buffer has {}", bytes, staging.bytes());
      }
      copy(reader, owner, staging.get(), partials[static_cast<std::size_t>(owner)], bytes);
    }
  }
}

void Communicator::gather_to_first(int owner, const void* source, void* destination, std::size_t bytes) {
  // The copy runs on rank 0's stream, so that what follows there needs no further event.
  use(owner);
  hip::check(api_, api_.hipEventRecord(ready_[owner].get(), ranks_[owner].stream), "hipEventRecord");
  use(0);
  hip::check(api_, api_.hipStreamWaitEvent(ranks_[0].stream, ready_[owner].get(), 0), "hipStreamWaitEvent");
  copy(0, owner, destination, source, bytes);
}

void Communicator::use(int rank) const {
  hip::check(api_, api_.hipSetDevice(ranks_[static_cast<std::size_t>(rank)].device), "hipSetDevice");
}

void Communicator::copy(int reader, int owner, void* destination, const void* source, std::size_t bytes) const {
  const Rank& to = ranks_[static_cast<std::size_t>(reader)];
  const Rank& from = ranks_[static_cast<std::size_t>(owner)];
  hip::check(api_, api_.hipMemcpyPeerAsync(destination, to.device, source, from.device, bytes, to.stream),
             "hipMemcpyPeerAsync");
}

}  // namespace wavetune::comm
