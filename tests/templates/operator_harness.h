// Runs operators on the CPU device against their references. Outputs start as NaN, every tensor lies between guard
// bands and (in the padded layouts) has gaps between its rows that must come back untouched; gaps of inputs are NaN, so
// that reading them shows.
//
// A test of an operator is a table:
//   TEST(RmsNorm, MatchesReference) { check_operator({"rmsnorm", "f32", {{{"m", 3}, {"n", 100}, {"residual", 0}},
//   ...}}); }
#pragma once

#include <string>
#include <vector>

#include "templates/operator.h"

namespace wavetune::templates::test {

/// How tensors lie in memory.
enum class Layout {
  dense,       ///< rows follow each other
  padded,      ///< 64 unused elements after each row, 64 more after each batch: still aligned to any vector
  misaligned,  ///< base address and strides that suit no vector: one element of offset, odd gaps
};
const char* to_string(Layout layout);

struct RunResult {
  Comparison comparison;
  std::string damage;  ///< which operand's guard band, gap or input was overwritten; empty when none
};

/// What a run reads and should write: all operands in order, filled, and after the reference.
struct TestData {
  Scalars scalars;  ///< the operator's defaults, and what the test gave instead
  std::vector<HostTensor> tensors;
  std::vector<HostTensor> expected;
};
TestData make_data(const Operator& op, const Problem& problem, const Scalars& scalars, std::uint64_t seed);

/// One launch sequence of one configuration on the device under test.
RunResult run_operator(const Operator& op, const Problem& problem, const Config& config, Layout layout,
                       const TestData& data);

/// An operator in one dtype, at several shapes.
struct OperatorCase {
  std::string op;
  std::string dtype;
  std::vector<db::NamedInts> shapes;
  Scalars scalars = {};  ///< instead of the operator's defaults, by name
  std::vector<Layout> layouts = {Layout::dense, Layout::padded, Layout::misaligned};
  int samples = 6;                   ///< configurations drawn from the space, beside the default one
  bool gpu_space = true;             ///< draw also from the space of a GPU whose kernels run here too (gpu_limits)
  std::vector<Config> configs = {};  ///< run these as well; where waves have 32 lanes those that the space has
  int shapes_per_layout = 1 << 20;   ///< padded and misaligned layouts are tried for the first so many shapes only
};

/// Expects that every shape is computed right with the default and the drawn configurations that are valid for it; and
/// calls check_space. Configurations are drawn once for the first shape, so that shapes share compiled kernels.
void check_operator(const OperatorCase& c);

/// Expects that every configuration is right on every problem (of one operator), the second and every other one with
/// gaps between rows.
void expect_all_match(const std::vector<Problem>& problems, const std::vector<Config>& configs);

/// Expects that the default configuration is valid, that constants() and the source do not depend
/// on m, context, slots and rows, and that dynamic LDS and block sizes stay within the limits.
void check_space(const Operator& op, const Problem& problem, const DeviceLimits& limits);

/// What the tests run on: WAVETUNE_TEST_DEVICE, a device spec; the CPU when it is not set.
std::string device_spec();
bool on_cpu();
/// Limits of that device, of an MI355X, and of the GPU whose kernels run on that device: an MI355X's run on all devices
/// with 64-wide waves, an NVIDIA GPU has its own.
DeviceLimits device_limits();
DeviceLimits mi355x_limits();
DeviceLimits gpu_limits();

}  // namespace wavetune::templates::test
