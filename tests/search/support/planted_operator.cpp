#include "tests/search/support/planted_operator.h"

#include <cstring>

#include "db/base/error.h"
#include "templates/registry.h"

namespace wavetune::test {
namespace {

using namespace templates;

constexpr const char* kernel = R"(
struct Params { float* x; float* y; int n; };
extern "C" __global__ __launch_bounds__(64) void planted_main(Params p) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (cfg::fate == 3) {
    volatile int stay = 1;
    while (stay) {}
  }
  if (i >= p.n) return;
  if (cfg::fate == 2) *(volatile float*)(0x10) = 1.0f;
  float value = 2.0f * p.x[i];
  if (cfg::fate == 1) {
    volatile float slow = value;
    for (int step = 0; step < 200; ++step) slow = slow + 0.0f;
    value = slow;
  }
  if (cfg::fate == 4 && i == 7) value += 1.0f;
  if (cfg::fate == 5 && i == p.n - 1) return;
  if (cfg::fate == 6 && i == 0) p.y[p.n] = value;
  if (cfg::fate == 9 && i == 0) p.x[0] = 3.0f;
  p.y[i] = value;
}
)";

struct Params {
  void* x;
  void* y;
  std::int32_t n;
};

class Planted final : public Operator {
 public:
  std::string_view name() const override { return "planted"; }
  std::vector<DType> dtypes() const override { return {DType::f32}; }
  void check(const Problem& problem) const override {
    if (problem.dim("n") < 1) fail(ErrorKind::usage, "planted: n must be at least 1");
  }
  std::vector<OperandSpec> operands(const Problem& problem) const override {
    const std::int64_t n = problem.dim("n");
    return {{"x", Role::input, DType::f32, 1, 1, n}, {"y", Role::output, DType::f32, 1, 1, n}};
  }
  Space space(const Problem&, const DeviceLimits&) const override {
    std::vector<std::int64_t> values;
    for (int fate = 0; fate < fates; ++fate) values.push_back(fate);
    Space space;
    space.add("fate", values);
    return space;
  }
  Config default_config(const Problem&, const DeviceLimits&) const override { return planted_config(slower); }
  std::vector<std::string> source_files() const override { return {}; }
  db::NamedInts constants(const Problem&, const Config& config) const override { return config; }

  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    Params params{call.operands[0].data, call.operands[1].data, static_cast<std::int32_t>(call.problem->dim("n"))};
    Launch launch;
    launch.kernel = "planted_main";
    launch.block[0] = config.at("fate") == too_many_threads ? 1 << 20 : 64;
    launch.grid[0] = static_cast<std::uint32_t>((params.n + 63) / 64);
    launch.params.resize(sizeof params);
    std::memcpy(launch.params.data(), &params, sizeof params);
    return {launch};
  }

  void fill(const Problem&, std::mt19937_64& random, std::span<HostTensor> tensors) const override {
    for (std::int64_t i = 0; i < tensors[0].count(); ++i)
      tensors[0].set(i, static_cast<double>(random() % 1000) / 1000);
  }
  void reference(const Problem&, const Scalars&, std::span<HostTensor> tensors) const override {
    for (std::int64_t i = 0; i < tensors[0].count(); ++i) tensors[1].set(i, 2 * tensors[0].at(i));
  }
  Tolerance tolerance(const Problem&) const override { return {}; }
  Cost cost(const Problem& problem) const override {
    const auto n = static_cast<double>(problem.dim("n"));
    return {8 * n, n};
  }
};

}  // namespace

const Operator& planted_operator() {
  static const Planted planted;
  return planted;
}

db::Problem planted_problem(std::int64_t n) { return {"planted", "f32", {{"n", n}}}; }

db::Config planted_config(Fate fate) { return {{"fate", fate}}; }

std::string planted_source(const Operator& op, const db::Problem& problem, const db::Config& config) {
  if (&op != &planted_operator()) return kernel_source(op, problem, config);
  std::string source = kernel_source(op, problem, config) + kernel;
  if (config.at("fate") == does_not_compile) source += "this is not C++\n";
  return source;
}

std::string planted_hash(const Operator& op) { return &op == &planted_operator() ? "planted-1" : source_hash(op); }

const Operator& find_with_planted(std::string_view name) {
  return name == "planted" ? planted_operator() : get_operator(name);
}

}  // namespace wavetune::test
