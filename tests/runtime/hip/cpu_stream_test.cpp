// Streams, events, capture and peer copies of the CPU device.
#include <atomic>
#include <numeric>
#include <thread>

#include "tests/runtime/hip/cpu_kernels.h"

namespace wavetune::hip {
namespace {

using test::Kernels;

// `slow` makes races show: it holds its stream back before it writes.
constexpr const char* source = R"(
  struct P { int* out; int value; int spin; };
  extern "C" __global__ void append(P p) {  // out[0] counts, out[1 + i] is the i-th value
    volatile int sink = 0;
    for (int i = 0; i < p.spin; ++i) sink = sink + 1;
    int at = p.out[0]; p.out[1 + at] = p.value; p.out[0] = at + 1;
  }
  extern "C" __global__ void bump(P p) { atomicAdd(p.out, p.value); })";
constexpr int slow = 2'000'000;

struct P {
  int* out;
  int value;
  int spin;
};

class CpuStream : public testing::Test {
 protected:
  CpuStream() : k(source, test::cpu_provider(2)), api(k.api), log(api, 100 * sizeof(int)) {
    check(api, api.hipMemset(log.get(), 0, log.bytes()), "hipMemset");
  }

  hipError_t append(hipStream_t stream, int value, int spin = 0) {
    return k.launch3("append", {1, 1, 1}, {1, 1, 1}, P{static_cast<int*>(log.get()), value, spin}, 0, stream);
  }
  std::vector<int> order() {
    EXPECT_EQ(api.hipDeviceSynchronize(), hipSuccess);
    const auto values = k.read<int>(log, 100);
    return {values.begin() + 1, values.begin() + 1 + values[0]};
  }

  Kernels k;
  const Api& api;
  DeviceBuffer log;
};

TEST_F(CpuStream, ExecutesInOrder) {
  std::vector<int> expected(50);
  std::iota(expected.begin(), expected.end(), 0);
  for (const int i : expected) ASSERT_EQ(append(k.stream.get(), i, i % 7 == 0 ? slow / 100 : 0), hipSuccess);
  EXPECT_EQ(order(), expected);
}

TEST_F(CpuStream, WaitsForEventsOfOtherStreams) {
  Stream other = make_stream(api);
  Event event = make_event(api, hipEventDisableTiming);
  ASSERT_EQ(append(k.stream.get(), 1, slow), hipSuccess);
  ASSERT_EQ(api.hipEventRecord(event.get(), k.stream.get()), hipSuccess);
  ASSERT_EQ(api.hipStreamWaitEvent(other.get(), event.get(), 0), hipSuccess);
  ASSERT_EQ(append(other.get(), 2), hipSuccess);
  // Recording again does not disturb who waits for the first record.
  ASSERT_EQ(api.hipEventRecord(event.get(), other.get()), hipSuccess);
  ASSERT_EQ(api.hipStreamWaitEvent(k.stream.get(), event.get(), 0), hipSuccess);
  ASSERT_EQ(append(k.stream.get(), 3), hipSuccess);
  EXPECT_EQ(order(), (std::vector<int>{1, 2, 3}));
}

TEST_F(CpuStream, TheDefaultStreamIsOrderedWithBlockingStreamsOnly) {
  hipStream_t blocking = nullptr;
  ASSERT_EQ(api.hipStreamCreateWithFlags(&blocking, hipStreamDefault), hipSuccess);
  ASSERT_EQ(append(blocking, 1, slow), hipSuccess);
  ASSERT_EQ(append(nullptr, 2, slow), hipSuccess);
  ASSERT_EQ(append(blocking, 3, slow), hipSuccess);
  int count = 0;
  ASSERT_EQ(api.hipMemcpy(&count, log.get(), sizeof count, hipMemcpyDeviceToHost), hipSuccess);  // waits for all three
  EXPECT_EQ(count, 3);
  EXPECT_EQ(order(), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(api.hipStreamDestroy(blocking), hipSuccess);
}

TEST_F(CpuStream, EventsMeasureTheTimeBetweenThem) {
  Event start = make_event(api), stop = make_event(api), untimed = make_event(api, hipEventDisableTiming);
  float milliseconds = -1;
  EXPECT_EQ(api.hipEventElapsedTime(&milliseconds, start.get(), stop.get()), hipErrorInvalidHandle);  // never recorded
  ASSERT_EQ(api.hipEventRecord(start.get(), k.stream.get()), hipSuccess);
  ASSERT_EQ(append(k.stream.get(), 1, slow), hipSuccess);
  ASSERT_EQ(api.hipEventRecord(stop.get(), k.stream.get()), hipSuccess);
  EXPECT_EQ(api.hipEventElapsedTime(&milliseconds, start.get(), stop.get()), hipErrorNotReady);
  ASSERT_EQ(api.hipEventSynchronize(stop.get()), hipSuccess);
  ASSERT_EQ(api.hipEventElapsedTime(&milliseconds, start.get(), stop.get()), hipSuccess);
  EXPECT_GT(milliseconds, 0);
  ASSERT_EQ(api.hipEventRecord(untimed.get(), k.stream.get()), hipSuccess);
  EXPECT_EQ(api.hipEventElapsedTime(&milliseconds, start.get(), untimed.get()), hipErrorInvalidHandle);
}

TEST_F(CpuStream, AGraphOfForkedStreamsReplaysInOrder) {
  Stream side = make_stream(api);
  Event fork = make_event(api), join = make_event(api);
  ASSERT_EQ(api.hipStreamBeginCapture(k.stream.get(), hipStreamCaptureModeThreadLocal), hipSuccess);
  ASSERT_EQ(append(k.stream.get(), 1, slow / 10), hipSuccess);
  ASSERT_EQ(api.hipEventRecord(fork.get(), k.stream.get()), hipSuccess);
  ASSERT_EQ(api.hipStreamWaitEvent(side.get(), fork.get(), 0), hipSuccess);
  ASSERT_EQ(append(side.get(), 2), hipSuccess);
  ASSERT_EQ(api.hipEventRecord(join.get(), side.get()), hipSuccess);
  ASSERT_EQ(api.hipStreamWaitEvent(k.stream.get(), join.get(), 0), hipSuccess);
  ASSERT_EQ(append(k.stream.get(), 3), hipSuccess);
  hipGraph_t graph = nullptr;
  ASSERT_EQ(api.hipStreamEndCapture(k.stream.get(), &graph), hipSuccess);
  EXPECT_TRUE(order().empty()) << "capturing must not execute";
  hipGraphExec_t exec = nullptr;
  ASSERT_EQ(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0), hipSuccess);
  ASSERT_EQ(api.hipGraphDestroy(graph), hipSuccess);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(api.hipGraphLaunch(exec, k.stream.get()), hipSuccess);
  ASSERT_EQ(append(k.stream.get(), 4), hipSuccess);
  EXPECT_EQ(order(), (std::vector<int>{1, 2, 3, 1, 2, 3, 1, 2, 3, 4}));
  EXPECT_EQ(api.hipGraphExecDestroy(exec), hipSuccess);
  EXPECT_EQ(api.hipGraphExecDestroy(exec), hipErrorInvalidValue);
  // Both streams are ordinary ones again.
  ASSERT_EQ(append(side.get(), 5), hipSuccess);
  EXPECT_EQ(order().size(), 11u);
}

TEST_F(CpuStream, CaptureRefusesWhatCannotBeCaptured) {
  hipGraph_t graph = nullptr;
  const hipStream_t stream = k.stream.get();
  EXPECT_EQ(api.hipStreamEndCapture(stream, &graph), hipErrorIllegalState);
  EXPECT_EQ(api.hipStreamBeginCapture(nullptr, hipStreamCaptureModeGlobal), hipErrorStreamCaptureUnsupported);

  ASSERT_EQ(api.hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal), hipSuccess);
  EXPECT_EQ(api.hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal), hipErrorIllegalState);
  EXPECT_EQ(api.hipStreamSynchronize(stream), hipErrorStreamCaptureUnsupported);
  EXPECT_EQ(append(stream, 1), hipErrorStreamCaptureInvalidated);
  EXPECT_EQ(api.hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureInvalidated);

  ASSERT_EQ(api.hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal), hipSuccess);
  void* pointer = nullptr;
  EXPECT_EQ(api.hipMalloc(&pointer, 16), hipErrorStreamCaptureUnsupported);
  EXPECT_EQ(api.hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureInvalidated);

  ASSERT_EQ(api.hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed), hipSuccess);
  DeviceBuffer allowed(api, 16);
  Stream side = make_stream(api);
  Event fork = make_event(api);
  ASSERT_EQ(api.hipEventRecord(fork.get(), stream), hipSuccess);
  EXPECT_EQ(api.hipEventSynchronize(fork.get()), hipErrorCapturedEvent);
  ASSERT_EQ(api.hipStreamWaitEvent(side.get(), fork.get(), 0), hipSuccess);
  ASSERT_EQ(append(side.get(), 1), hipSuccess);
  EXPECT_EQ(api.hipStreamEndCapture(side.get(), &graph), hipErrorStreamCaptureUnmatched);
  EXPECT_EQ(api.hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureUnjoined);
  EXPECT_TRUE(order().empty());
}

TEST_F(CpuStream, CopiesBetweenPeersFollowTheStream) {
  ASSERT_EQ(api.hipSetDevice(1), hipSuccess);
  DeviceBuffer there(api, log.bytes());
  ASSERT_EQ(api.hipSetDevice(0), hipSuccess);
  int can = 0;
  EXPECT_EQ(api.hipDeviceCanAccessPeer(&can, 0, 1), hipSuccess);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(api.hipDeviceCanAccessPeer(&can, 0, 99), hipErrorInvalidDevice);
  (void)api.hipDeviceEnablePeerAccess(1, 0);
  EXPECT_EQ(api.hipDeviceEnablePeerAccess(1, 0), hipErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(api.hipDeviceEnablePeerAccess(0, 0), hipErrorInvalidDevice);

  ASSERT_EQ(append(k.stream.get(), 42, slow), hipSuccess);
  ASSERT_EQ(api.hipMemcpyPeerAsync(there.get(), 1, log.get(), 0, log.bytes(), k.stream.get()), hipSuccess);
  EXPECT_EQ(api.hipMemcpyPeerAsync(there.get(), 0, log.get(), 0, log.bytes(), k.stream.get()), hipErrorInvalidValue);
  ASSERT_EQ(k.synchronize(), hipSuccess);
  EXPECT_EQ(k.read<int>(there, 2)[1], 42);
}

TEST_F(CpuStream, PageableMemoryMayBeUsedAgainAtOnce) {
  ASSERT_EQ(append(k.stream.get(), 1, slow), hipSuccess);
  int value = 5;
  ASSERT_EQ(api.hipMemcpyAsync(log.get(), &value, sizeof value, hipMemcpyHostToDevice, k.stream.get()), hipSuccess);
  value = 6;
  int back = 0;
  ASSERT_EQ(api.hipMemcpyAsync(&back, log.get(), sizeof back, hipMemcpyDeviceToHost, k.stream.get()), hipSuccess);
  EXPECT_EQ(back, 5);
}

TEST_F(CpuStream, ManyStreamsOfManyThreadsAtOnce) {
  ASSERT_EQ(api.hipSetDevice(0), hipSuccess);
  constexpr int threads = 8, launches = 200;
  std::atomic<int> failures{0};
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&] {
      Stream stream = make_stream(api);
      Event event = make_event(api);
      for (int i = 0; i < launches; ++i) {
        const P params{static_cast<int*>(log.get()), 1, 0};
        if (k.launch3("bump", {3, 1, 1}, {64, 1, 1}, params, 0, stream.get()) != hipSuccess) ++failures;
        if (i % 10 == 0 && api.hipEventRecord(event.get(), stream.get()) != hipSuccess) ++failures;
        if (i % 50 == 0 && api.hipEventSynchronize(event.get()) != hipSuccess) ++failures;
      }
      if (api.hipStreamSynchronize(stream.get()) != hipSuccess) ++failures;
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(k.read<int>(log, 1)[0], threads * launches * 3 * 64);
}

}  // namespace
}  // namespace wavetune::hip
