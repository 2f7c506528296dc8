// Compiles a second for gfx950 with one and with N workers, on a mix of real kernels, and beside it N plain hipRTC
// processes that share the same list. Prints one table. Needs hipRTC (./setup.sh), no GPU. Run by hand:
// build/release/tests/compile_throughput [WORKERS] [ROUNDS] [KERNELS]
//
// The arms take turns, so that what else the machine does meets them all; every one starts from an empty code cache and
// without a process. The ratio is made within each round, and its median is reported; beside it the ratio of the best
// rates, since other work on the machine only ever lowers a rate.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "db/base/error.h"
#include "db/base/file.h"
#include "runtime/hip/amd/hiprtc_install.h"
#include "runtime/hip/amd/hiprtc_library.h"
#include "runtime/jit/rtc_program.h"
#include "runtime/jit/target.h"
#include "runtime/process/subprocess.h"
#include "templates/registry.h"

namespace wavetune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* arch = "gfx950";
const char* const problem_keys[] = {
    "gemm/bf16/batch=1,k=6144,m=4096,n=2048",
    "gemm/bf16/batch=1,k=6144,m=16,n=2048",
    "grouped_gemm/bf16/experts=64,k=6144,m=64,n=2048,swiglu=1,topk=8",
    "mla_attention/bf16/heads=16,latent=512,m=16,rope=64,slots=65536,topk=2048",
    "rmsnorm/bf16/m=64,n=6144,residual=1",
};

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

/// Of all processes that were started and have ended.
double children_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string load() {
  std::string text;
  std::ifstream file("/proc/loadavg");
  std::getline(file, text);
  return text.substr(0, text.find(' ', text.find(' ', text.find(' ') + 1) + 1));
}

/// Different sources: configurations drawn at random from the problems' spaces.
std::vector<jit::CompileRequest> kernels(const jit::CompileTarget& target, std::size_t count) {
  std::mt19937_64 random(20261130);
  std::vector<jit::CompileRequest> requests;
  while (requests.size() < count) {
    for (const char* key : problem_keys) {
      const db::Problem problem = db::problem_from_key(key);
      const templates::Operator& op = templates::get_operator(problem.op);
      const templates::Space space = op.space(problem, target.limits);
      db::Config config = op.default_config(problem, target.limits);
      for (int attempt = 0; attempt < 10'000; ++attempt) {
        db::Config drawn = space.at(random() % space.product_size());
        if (!space.valid(drawn)) continue;
        config = std::move(drawn);
        break;
      }
      jit::CompileRequest request = request_for(target, op, problem, config);
      // Configurations that differ in their launch only have one source: the service would compile it once.
      request.source += fmt::format("// {}\n", requests.size());
      if (requests.size() < count) requests.push_back(std::move(request));
    }
  }
  std::shuffle(requests.begin(), requests.end(), random);
  return requests;
}

/// Seconds for all through the service; counts failures.
double through_service(const std::vector<jit::CompileRequest>& requests, int workers, std::size_t& failures) {
  const process::TemporaryDirectory cache("wavetune-throughput");
  jit::CompileOptions options;
  options.workers = workers;
  options.cache_directory = cache.path();
  options.worker_executable = process::self_executable().parent_path().parent_path() / "wavetune";
  const auto start = Clock::now();
  jit::CompileService service(options);
  std::vector<std::shared_future<jit::CompileResult>> futures;
  for (const jit::CompileRequest& request : requests) futures.push_back(service.submit(request));
  for (const auto& future : futures) failures += future.get().outcome == db::Outcome::ok ? 0 : 1;
  return seconds_since(start);
}

/// The peer: N processes, each with every Nth source of the list, that call hipRTC in a loop and do nothing else.
double plain_processes(const hip::amd::HiprtcInstall& hiprtc, const std::filesystem::path& sources, int count) {
  const auto start = Clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      process::SubprocessOptions options;
      if (!hiprtc.loader.empty()) options.arguments = {hiprtc.loader, "--library-path", hiprtc.folder};
      for (const std::string& word : {process::self_executable().string(), std::string("--peer"), hiprtc.library,
                                      sources.string(), std::to_string(i), std::to_string(count)}) {
        options.arguments.push_back(word);
      }
      options.environment = {{"AMD_COMGR_CACHE", "0"}};
      const process::CaptureResult result = process::run_and_capture(std::move(options));
      if (!result.status.ok()) fmt::print(stderr, "peer: {} {}\n", result.status.describe(), result.output);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return seconds_since(start);
}

int peer(char** arguments) {
  const hip::Api api = hip::amd::load_hiprtc(arguments[0]);
  const std::filesystem::path sources = arguments[1];
  const int step = std::atoi(arguments[3]);
  for (int i = std::atoi(arguments[2]);; i += step) {
    const std::filesystem::path file = sources / std::to_string(i);
    if (!std::filesystem::exists(file)) return 0;
    (void)jit::compile_program(api, read_file(file), {fmt::format("--offload-arch={}", arch), "-O3", "-std=c++20"});
  }
}

int run(int workers, int rounds, std::size_t count) {
  const jit::CompileTarget target = jit::compile_target_for_arch(arch);
  const hip::amd::HiprtcInstall hiprtc = *hip::amd::find_hiprtc().found;
  const std::vector<jit::CompileRequest> requests = kernels(target, count);
  const process::TemporaryDirectory sources("wavetune-throughput-sources");
  for (std::size_t i = 0; i < requests.size(); ++i)
    write_file_atomic(sources.path() / std::to_string(i), requests[i].source);

  fmt::print("{} kernels for {}, hipRTC {} ({}), {} cores, load {}\n", requests.size(), arch, hiprtc.version,
             hiprtc.place, std::thread::hardware_concurrency(), load());
  const auto each = [workers](const char* what) { return fmt::format("{} {}", workers, what); };
  fmt::print("{:>5} | {:>10} {:>10} {:>8} | {:>10} {:>10} {:>8} | {:>8} | {:>9} {:>9} | {}\n", "round", "1 worker",
             each("workers"), "ratio/N", "1 plain", each("plain"), "ratio/N", "workers", "1 worker", each("workers"),
             "load");
  fmt::print("{:>5} | {:>10} {:>10} {:>8} | {:>10} {:>10} {:>8} | {:>8} | {:>9} {:>9} |\n", "", "kernels/s",
             "kernels/s", "", "kernels/s", "kernels/s", "", "to plain", "CPU s each", "CPU s each");
  std::vector<double> efficiency, peer_efficiency, against_peer, cpu_ratio;
  double best[4] = {};
  std::size_t failures = 0;
  for (int round = 0; round < rounds; ++round) {
    double rate[4] = {};
    double cpu[4] = {};
    for (int i = 0; i < 4; ++i) {
      // Another order each round: no arm is always the one after the noise.
      const int arm = (i + round) % 4;
      const int processes = arm % 2 == 0 ? 1 : workers;
      const double cpu_before = children_cpu_seconds();
      const double seconds =
          arm < 2 ? through_service(requests, processes, failures) : plain_processes(hiprtc, sources.path(), processes);
      rate[arm] = static_cast<double>(count) / seconds;
      best[arm] = std::max(best[arm], rate[arm]);
      cpu[arm] = (children_cpu_seconds() - cpu_before) / static_cast<double>(count);
    }
    efficiency.push_back(rate[1] / rate[0] / workers);
    peer_efficiency.push_back(rate[3] / rate[2] / workers);
    against_peer.push_back(rate[1] / rate[3]);
    cpu_ratio.push_back(cpu[0] / cpu[1]);
    fmt::print(
        "{:>5} | {:>10.2f} {:>10.2f} {:>8.2f} | {:>10.2f} {:>10.2f} {:>8.2f} | {:>8.2f} | {:>10.2f} {:>10.2f} | {}\n",
        round, rate[0], rate[1], efficiency.back(), rate[2], rate[3], peer_efficiency.back(), against_peer.back(),
        cpu[0], cpu[1], load());
    std::fflush(stdout);
  }
  fmt::print(
      "medians: ratio/N {:.2f} (plain processes {:.2f}), workers to plain {:.2f}, CPU time of a kernel with 1 worker "
      "to that with {} {:.2f}\nof the best rates: ratio/N {:.2f} (plain processes {:.2f}), workers to plain {:.2f}; "
      "{} of {} compiles failed\n",
      median(efficiency), median(peer_efficiency), median(against_peer), workers, median(cpu_ratio),
      best[1] / best[0] / workers, best[3] / best[2] / workers, best[1] / best[3], failures,
      2 * count * static_cast<std::size_t>(rounds));
  return 0;
}

}  // namespace
}  // namespace wavetune

int main(int argc, char** argv) {
  try {
    if (argc == 6 && std::string_view(argv[1]) == "--peer") return wavetune::peer(argv + 2);
    const auto number = [&](int index, int otherwise) {
      return argc > index ? std::max(1, std::atoi(argv[index])) : otherwise;
    };
    return wavetune::run(number(1, std::max(1, static_cast<int>(std::thread::hardware_concurrency()))), number(2, 5),
                         static_cast<std::size_t>(number(3, 40)));
  } catch (const wavetune::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
