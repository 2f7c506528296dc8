// What launching, meeting and switching cost on the CPU device. Processor time (of all threads of the process) stands
// beside wall-clock time, because the latter says little on a busy machine.
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <functional>
#include <span>

#include "runtime/hip/handles.h"
#include "runtime/hip/provider.h"

namespace {

using namespace wavetune;
using namespace wavetune::hip;

constexpr const char* source = R"(
  struct P { float* x; int n; int loops; };
  extern "C" __global__ __launch_bounds__(1024) void empty(P p) { if (p.n == -1) p.x[0] = 1; }
  extern "C" __global__ __launch_bounds__(1024) void barrier(P p) { for (int i = 0; i < p.loops; ++i) __syncthreads(); }
  extern "C" __global__ __launch_bounds__(1024) void sum(P p) {
    float s = 0;
    for (int i = 0; i < p.loops; ++i) s += wt::wave_sum(1.0f + i);
    p.x[threadIdx.x] = s;
  }
  extern "C" __global__ __launch_bounds__(1024) void matrix(P p) {
    wt::mma16<wt::bf16>::ab a{}, b{};
    wt::mma16<wt::bf16>::acc c{};
    for (int i = 0; i < p.loops; ++i) c = wt::mma16<wt::bf16>::run(a, b, c);
    p.x[threadIdx.x] = c[0];
  }
  template <int Tile, int Format> __device__ void product(P p) {
    typename wt::mma<Tile>::acc c{};
    wt::chunk a[2] = {};
    for (int i = 0; i < p.loops; ++i) {
      if constexpr (Format == 16) {
        c = wt::mma<Tile>::bf16(a[0], a[1], c);
      } else {
        c = wt::mma<Tile>::template scaled<Format, Format, 0, 0>(a, a, c, 127, 127);
      }
    }
    p.x[threadIdx.x] = c[0];
  }
  extern "C" __global__ void bf16_16(P p) { product<16, 16>(p); }
  extern "C" __global__ void bf16_32(P p) { product<32, 16>(p); }
  extern "C" __global__ void fp8_16(P p) { product<16, wt::fp8>(p); }
  extern "C" __global__ void fp8_32(P p) { product<32, wt::fp8>(p); }
  extern "C" __global__ void fp4_16(P p) { product<16, wt::fp4>(p); }
  extern "C" __global__ void fp4_32(P p) { product<32, wt::fp4>(p); })";

struct P {
  float* x;
  int n;
  int loops;
};

double processor_us() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}
double wall_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void row(const std::string& what, double per, const std::function<void()>& body) {
  body();
  double best_processor = 1e30;
  double best_wall = 1e30;
  for (int i = 0; i < 5; ++i) {
    const double processor = processor_us();
    const double wall = wall_us();
    body();
    best_processor = std::min(best_processor, (processor_us() - processor) / per);
    best_wall = std::min(best_wall, (wall_us() - wall) / per);
  }
  fmt::print("{:<44} {:>10.3f} {:>10.3f}\n", what, best_processor, best_wall);
}

}  // namespace

int main() {
  const auto provider = load_provider(parse_device_spec("cpu"));
  const Api& api = provider->api();
  const std::string text = provider->prelude() + source;
  hiprtcProgram program = nullptr;
  const std::vector<std::string> options = provider->compile_options(provider->devices()[0]);
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  std::string code;
  fmt::print("{:<44} {:>10} {:>10}\n", "best of 5", "CPU us", "wall us");
  row("compile four kernels", 1, [&] {
    check_rtc(api, api.hiprtcCreateProgram(&program, text.c_str(), "bench.hip", 0, nullptr, nullptr), "create");
    check_rtc(api, api.hiprtcCompileProgram(program, static_cast<int>(pointers.size()), pointers.data()), "compile");
    size_t size = 0;
    check_rtc(api, api.hiprtcGetCodeSize(program, &size), "size");
    code.resize(size);
    check_rtc(api, api.hiprtcGetCode(program, code.data()), "code");
    check_rtc(api, api.hiprtcDestroyProgram(&program), "destroy");
  });
  const Module module = load_module(api, std::as_bytes(std::span(code)));
  const Stream stream = make_stream(api);
  const DeviceBuffer memory(api, 1024 * sizeof(float));

  const auto run = [&](const char* kernel, unsigned blocks, unsigned threads, int loops) {
    const P params{static_cast<float*>(memory.get()), 0, loops};
    const std::uint32_t grid[] = {blocks, 1, 1};
    const std::uint32_t block[] = {threads, 1, 1};
    launch(api, get_function(api, module, kernel), grid, block, 0, stream.get(), std::as_bytes(std::span(&params, 1)));
  };
  const auto synchronize = [&] { check(api, api.hipStreamSynchronize(stream.get()), "hipStreamSynchronize"); };
  for (const unsigned blocks : {1u, 16u, 256u}) {
    row(fmt::format("launch of {} x 256 empty threads", blocks), 1000, [&] {
      for (int i = 0; i < 1000; ++i) run("empty", blocks, 256, 0);
      synchronize();
    });
  }
  row("launch of 1 x 64 and hipStreamSynchronize", 1000, [&] {
    for (int i = 0; i < 1000; ++i) {
      run("empty", 1, 64, 0);
      synchronize();
    }
  });
  check(api, api.hipStreamBeginCapture(stream.get(), hipStreamCaptureModeThreadLocal), "begin capture");
  for (int i = 0; i < 150; ++i) run("empty", 1, 64, 0);
  hipGraph_t graph = nullptr;
  check(api, api.hipStreamEndCapture(stream.get(), &graph), "end capture");
  const Graph owned(api, graph);
  hipGraphExec_t exec = nullptr;
  check(api, api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0), "instantiate");
  const GraphExec owned_exec(api, exec);
  row("graph of 150 launches of 1 x 64", 100, [&] {
    for (int i = 0; i < 100; ++i) check(api, api.hipGraphLaunch(exec, stream.get()), "hipGraphLaunch");
    synchronize();
  });
  constexpr int loops = 1000;
  for (const unsigned threads : {64u, 256u, 1024u}) {
    row(fmt::format("__syncthreads of {} threads", threads), loops, [&] {
      run("barrier", 1, threads, loops);
      synchronize();
    });
  }
  row("wave_sum of one wave", loops, [&] {
    run("sum", 1, 64, loops);
    synchronize();
  });
  row("mma16 (bf16) of one wave", loops, [&] {
    run("matrix", 1, 64, loops);
    synchronize();
  });
  for (const char* kernel : {"bf16_16", "bf16_32", "fp8_16", "fp8_32", "fp4_16", "fp4_32"}) {
    row(fmt::format("mma {} of one wave", kernel), loops, [&] {
      run(kernel, 1, 64, loops);
      synchronize();
    });
  }
  return 0;
}
