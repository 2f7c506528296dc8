// Operands that stay in device memory from one configuration to the next; the device-side checks run on the CPU
// provider as they do on a GPU.
#include "search/measure/operand_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <set>

#include "runtime/hip/cuda/cuda_target.h"
#include "search/measure/clock_probe.h"
#include "templates/registry.h"
#include "tests/search/support/checks_code.h"
#include "tests/search/support/planted_operator.h"
#include "tests/search/support/scratch.h"

namespace wavetune::measure {
namespace {

using namespace test;

class Pool : public testing::Test {
 protected:
  Pool() { checks_ = std::make_unique<DeviceChecks>(provider_->api(), *checks_code(compiler_, *provider_)); }

  OperandPool pool(std::size_t rotate_bytes, bool on_device) {
    return {*provider_, prepared_, PoolOptions{0, true, rotate_bytes, on_device ? checks_.get() : nullptr}};
  }
  static std::byte* at(const OperandPool& pool, std::size_t set, std::size_t operand) {
    return static_cast<std::byte*>(pool.views(set)[operand].data);
  }

  Scratch scratch_;
  jit::CompileService compiler_{scratch_.compile_options()};
  std::shared_ptr<const hip::Provider> provider_ = hip::load_provider(hip::parse_device_spec("cpu"));
  std::unique_ptr<DeviceChecks> checks_;
  PreparedProblem prepared_ = prepare_problem(planted_operator(), planted_problem(1001), 1);
};

class CheckedPool : public Pool, public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(HostAndDevice, CheckedPool, testing::Bool());

TEST_P(CheckedPool, NamesWhatWasChangedAndMakesItGood) {
  OperandPool pool = this->pool(0, GetParam());
  const db::Config config = planted_config(good);
  pool.arrange_for(config);
  EXPECT_EQ(pool.damage(nullptr), std::nullopt);
  std::byte* x = at(pool, 0, 0);
  std::byte* y = at(pool, 0, 1);
  EXPECT_EQ(std::memcmp(x, prepared_.inputs[0].bytes().data(), 4004), 0);
  EXPECT_EQ(y[4003], std::byte{0xFF}) << "outputs begin as NaN";

  y[4004] = std::byte{0};
  EXPECT_NE(pool.damage(nullptr).value_or("").find("outside operand 'y'"), std::string::npos);
  pool.arrange_for(config);
  EXPECT_EQ(pool.damage(nullptr), std::nullopt);
  x[4003] ^= std::byte{1};
  EXPECT_NE(pool.damage(nullptr).value_or("").find("input 'x'"), std::string::npos);
  pool.arrange_for(config);
  EXPECT_EQ(pool.damage(nullptr), std::nullopt);
  static_cast<std::byte*>(pool.workspace())[-1] = std::byte{0};
  EXPECT_NE(pool.damage(nullptr).value_or("").find("workspace"), std::string::npos);
}

TEST_F(Pool, OutputsArePoisonedForEveryConfiguration) {
  OperandPool pool = this->pool(0, true);
  pool.arrange_for(planted_config(good));
  std::byte* y = at(pool, 0, 1);
  std::memset(y, 0, 4004);
  EXPECT_EQ(pool.results()[1].at(7), 0);
  EXPECT_EQ(pool.results()[0].count(), 0) << "inputs are not brought to the host";
  pool.arrange_for(planted_config(slower));
  EXPECT_EQ(at(pool, 0, 1), y) << "the memory is kept";
  EXPECT_EQ(y[0], std::byte{0xFF});
}

TEST_F(Pool, SetsAreSoManyThatLaunchesReadTheBytesAskedFor) {
  OperandPool pool = this->pool(20 * 8008, true);
  pool.arrange_for(planted_config(good));
  EXPECT_EQ(pool.sets(), 20u);
  std::set<const void*> places;
  for (std::size_t set = 0; set < pool.sets(); ++set) {
    places.insert(at(pool, set, 0));
    EXPECT_EQ(std::memcmp(at(pool, set, 0), prepared_.inputs[0].bytes().data(), 4004), 0);
  }
  EXPECT_EQ(places.size(), 20u);
  at(pool, 13, 1)[-1] = std::byte{0};
  EXPECT_NE(pool.damage(nullptr).value_or("").find("outside operand 'y'"), std::string::npos);
}

TEST(PreparedProblem, LargeInputsAreNotKeptTwice) {
  const db::Problem problem = db::problem_from_key("gemm/f32/batch=1,k=4096,m=1,n=2048");
  const PreparedProblem prepared = prepare_problem(templates::get_operator("gemm"), problem, 1);
  EXPECT_EQ(prepared.inputs[1].count(), 4096 * 2048);
  EXPECT_EQ(prepared.expected[1].count(), 0);
  EXPECT_EQ(prepared.expected[0].count(), 4096);
  EXPECT_NE(prepared.expected[2].at(5), 0);
}

// Weights in the kernels' order are made with the problem, in the background, and are what the pool would have made.
TEST_F(Pool, TakesInputsThatWereArrangedAhead) {
  const templates::Operator& op = templates::get_operator("gemm");
  const db::Problem problem = db::problem_from_key("gemm/bf16_mxfp4/batch=1,k=256,m=4,n=40");
  const templates::DeviceLimits hopper = hip::cuda::limits_of_arch("sm_90a");
  const PreparedProblem plain = prepare_problem(op, problem, 1);
  PreparedProblem ahead = prepare_problem(op, problem, 1);
  arrange_inputs(ahead, hopper);
  ASSERT_EQ(ahead.arranged.size(), 2u) << "weights and their scales";
  std::size_t bytes = 0;
  for (const ArrangedInput& input : ahead.arranged) bytes += input.tensor.bytes().size();
  for (const templates::HostTensor& input : ahead.inputs) bytes += input.bytes().size();
  EXPECT_EQ(input_bytes(op, problem, hopper), bytes);
  db::Config config = op.default_config(problem, hopper);
  for (const std::int64_t shuffled : {0, 1}) {
    config["shuffled"] = shuffled;
    const PoolOptions options{0, true, 0, checks_.get()};
    OperandPool one(*provider_, plain, options), other(*provider_, ahead, options);
    one.arrange_for(config);
    other.arrange_for(config);
    for (std::size_t i = 0; i < plain.specs.size(); ++i) {
      const templates::OperandSpec spec = templates::arranged(plain.specs[i], op.arrangement(problem, config, i));
      EXPECT_EQ(std::memcmp(at(one, 0, i), at(other, 0, i), templates::bytes_for(spec.dtype, spec.count())), 0)
          << plain.specs[i].name << " shuffled=" << shuffled;
    }
    // What was made ahead is not made again.
    ahead.arranged.front().tensor.bytes()[0] ^= std::byte{1};
    OperandPool changed(*provider_, ahead, options);
    changed.arrange_for(config);
    const std::size_t operand = ahead.arranged.front().operand;
    const bool taken = op.arrangement(problem, config, operand) == ahead.arranged.front().arrangement;
    EXPECT_EQ(*at(changed, 0, operand) != *at(one, 0, operand), taken);
    ahead.arranged.front().tensor.bytes()[0] ^= std::byte{1};
  }
}

TEST(SysfsClockProbe, ReadsTheDriversFiles) {
  const process::TemporaryDirectory folder("wavetune-probe");
  EXPECT_EQ(sysfs_clock_probe(folder.path()), nullptr);
  const auto hwmon = folder.path() / "hwmon" / "hwmon3";
  std::filesystem::create_directories(hwmon);
  std::ofstream(hwmon / "freq1_input") << 1870000000 << "\n";
  std::ofstream(hwmon / "power1_average") << 612000000 << "\n";
  const auto probe = sysfs_clock_probe(folder.path());
  ASSERT_NE(probe, nullptr);
  const ClockReading reading = probe->read();
  EXPECT_EQ(reading.clock_mhz, 1870);
  EXPECT_EQ(reading.power_w, 612);
  EXPECT_EQ(reading.temperature_c, std::nullopt);
}

}  // namespace
}  // namespace wavetune::measure
