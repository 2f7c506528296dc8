// What an operator family is, seen from outside: its shapes, parameter space, kernels, reference and cost. Adding an
// operator means adding a folder that implements this and registers itself; search, measurement, database and serving
// follow.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/problem.h"
#include "templates/dtype.h"
#include "templates/host_tensor.h"
#include "templates/space.h"

namespace wavetune::templates {

using db::Config;
using db::Problem;

/// What a kernel may assume of a device.
struct DeviceLimits {
  std::string arch;  ///< "gfx950", "sm_90", "cpu-..."
  int wave_size = 64;
  int max_block_threads = 1024;
  int lds_bytes = 65536;  ///< per block
  int cu_count = 1;
};

enum class Role { input, output, inout, workspace };

/// One tensor argument. Its shape is [batch, rows, cols], dense unless the caller gives strides.
struct OperandSpec {
  std::string name;
  Role role = Role::input;
  DType dtype = DType::f32;
  std::int64_t batch = 1;
  std::int64_t rows = 1;
  std::int64_t cols = 1;
  std::int64_t count() const { return batch * rows * cols; }
};

/// Where an operand lives at launch. Strides in elements; `data` points at element [0,0,0].
struct View {
  void* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t batch_stride = 0;
};

/// In which order an operand's bytes lie in memory. Weights are put in the order that a configuration reads when they
/// are loaded (templates/gemm/arrange.h has the orders).
enum class Arrangement : std::uint8_t { rows, shuffled_weights, shuffled_scales };

/// Numbers that do not change which kernel is best (eps, scale, theta), by name.
using Scalars = std::map<std::string, double, std::less<>>;

/// Everything a launch needs: `problem` holds the dimensions of this very call (its m may differ from the m that the
/// configuration was tuned at), `operands` are in the order of Operator::operands, `workspace` has workspace_bytes
/// bytes.
struct Call {
  const Problem* problem = nullptr;
  std::span<const View> operands;
  const Scalars* scalars = nullptr;
  void* workspace = nullptr;
};

/// One kernel launch. `params` is the kernel's single parameter struct, by value.
struct Launch {
  std::string kernel;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::uint32_t lds_bytes = 0;  ///< dynamic LDS
  std::vector<std::byte> params;
};

/// What one launch will take of a compute unit, as far as that is known before it is compiled.
struct ResourceEstimate {
  std::string kernel;
  int threads = 0;    ///< of one block
  int lds_bytes = 0;  ///< of one block, static and dynamic
  int vgprs = 0;      ///< unified total of one wave; 0: not predicted
};

/// Bytes a launch must move and operations it must do: the roofline's inputs, counted once per tensor that is needed.
struct Cost {
  double bytes = 0;
  double flops = 0;
};

/// How far an output may be from the reference: |x - ref| <= absolute + relative * |ref|.
struct Tolerance {
  double absolute = 1e-5;
  double relative = 1e-4;
};

/// Result of comparing outputs with the reference.
struct Comparison {
  double worst = 0;     ///< largest deviation in units of the tolerance; <= 1 passes, NaN in the output gives infinity
  std::string message;  ///< where the worst one is, when it does not pass
  bool passes() const { return worst <= 1.0; }
};

/// What compare() does with an operand: so that outputs can be compared where they are, on the device.
enum class Compared : std::uint8_t {
  not_at_all,
  elements,        ///< each element within the tolerance
  in_its_own_way,  ///< only compare() knows
};
struct ComparedOperand {
  Compared how = Compared::not_at_all;
  Tolerance tolerance;
};

/// Some elements of an output as reference() has them: what an answer computed on the device is held to.
struct ReferenceSample {
  std::size_t operand = 0;
  std::vector<std::int64_t> indices;  ///< ascending
  std::vector<double> values;
};

/// One of the texts that a kernel is made of.
struct SourceText {
  std::string path;
  std::string text;
};

/// Stateless and shared: all methods are const and thread-safe.
class Operator {
 public:
  virtual ~Operator() = default;

  virtual std::string_view name() const = 0;
  virtual std::vector<DType> dtypes() const = 0;
  /// Checks dims and dtype of a problem. Throws Error usage naming what is missing or out of range.
  virtual void check(const Problem& problem) const = 0;

  virtual std::vector<OperandSpec> operands(const Problem& problem) const = 0;
  /// Scalars with the values used when tuning.
  virtual Scalars default_scalars(const Problem&) const { return {}; }

  virtual Space space(const Problem& problem, const DeviceLimits& limits) const = 0;
  /// A valid configuration that works everywhere: used when nothing is tuned.
  virtual Config default_config(const Problem& problem, const DeviceLimits& limits) const = 0;

  /// The kernel file(s) below the repository that make up the sources, without the prelude.
  virtual std::vector<std::string> source_files() const = 0;
  /// Those of them that a configuration's translation unit is made of, in order.
  virtual std::vector<std::string> kernel_files(const Config&) const { return source_files(); }
  /// All texts that decide what this operator's kernels compute, without the preludes: what source_hash is made of. The
  /// default is source_files().
  virtual std::vector<SourceText> sources() const;
  /// What follows the target's prelude in a configuration's translation unit. The default: constants() as cfg::NAME,
  /// then kernel_files().
  virtual std::string source(const Problem& problem, const Config& config) const;
  /// For the compiler, after those of the target.
  virtual std::vector<std::string> compile_options() const { return {}; }
  /// Part of source_hash: raised when launches(), the meaning of a parameter, or the reference changes without a change
  /// in the kernel files.
  virtual int version() const { return 1; }
  /// The constants that the source sees as cfg::NAME (constexpr int). Must not depend on m, so that one code
  /// object serves all batch sizes.
  virtual db::NamedInts constants(const Problem& problem, const Config& config) const = 0;

  /// How `config` wants operand `index` to lie in memory.
  virtual Arrangement arrangement(const Problem&, const Config&, std::size_t /*index*/) const {
    return Arrangement::rows;
  }

  /// Bytes at multiples of which rows of inputs must begin; launches() refuses others.
  virtual std::int64_t row_alignment(const Problem&, const Config&) const { return 1; }

  virtual std::int64_t workspace_bytes(const Problem&, const Config&) const { return 0; }
  virtual std::vector<Launch> launches(const Config& config, const Call& call) const = 0;

  /// LDS of a fixed size that `kernel` declares (`__shared__` without extern), in bytes.
  virtual std::int64_t static_lds_bytes(const Problem&, const Config&, std::string_view /*kernel*/,
                                        const DeviceLimits&) const {
    return 0;
  }
  /// For each launch, in order, with dense and well aligned operands. The default takes threads and dynamic LDS from
  /// launches() and predicts no registers.
  virtual std::vector<ResourceEstimate> estimate(const Problem& problem, const Config& config,
                                                 const DeviceLimits& limits) const;

  /// Fills the inputs (and inouts) with data that makes mistakes visible. `tensors` is in operand order, allocated.
  virtual void fill(const Problem& problem, std::mt19937_64& random, std::span<HostTensor> tensors) const = 0;
  /// Computes outputs and inouts in place in plain, obviously right code, accumulating in double.
  virtual void reference(const Problem& problem, const Scalars& scalars, std::span<HostTensor> tensors) const = 0;
  virtual Tolerance tolerance(const Problem& problem) const = 0;
  /// Compares what a kernel wrote with what reference() wrote. The default compares outputs and inouts element by
  /// element.
  virtual Comparison compare(const Problem& problem, std::span<const HostTensor> got,
                             std::span<const HostTensor> expected) const;
  /// What compare() does with operand `index`. The default goes with the default compare().
  virtual ComparedOperand compared(const Problem& problem, std::size_t index) const;

  /// The launch that computes what reference() does in plain code on the device, of a kernel in reference_file:
  /// `buffers` hold all operands in order, dense, in rows. Nothing: only the host computes it.
  virtual std::optional<Launch> reference_launch(const Problem&, std::span<void* const> /*buffers*/) const {
    return std::nullopt;
  }
  /// A few thousand elements spread over the output, the first and last rows and columns among them, computed as
  /// reference() does. Only of operators with a reference_launch().
  virtual ReferenceSample reference_sample(const Problem&, std::span<const HostTensor> /*inputs*/) const { return {}; }

  virtual Cost cost(const Problem& problem) const = 0;
};

/// The kernels of reference_launch(), to be compiled after the target's prelude. No part of any source_hash: they
/// decide nothing about a configuration's kernels, and what they compute is held to reference_sample().
inline constexpr std::string_view reference_file = "templates/gemm/reference.hip";

/// Content hash of everything that decides what a kernel of this operator computes: its sources, the preludes, and
/// Operator::version(). A trial made with another hash does not win.
std::string source_hash(const Operator& op);

/// Operator::source.
std::string kernel_source(const Operator& op, const Problem& problem, const Config& config);

/// Name of the DType of a problem's dtype text: "bf16" or, with another output type, "bf16_f32" (input_output).
struct InputOutput {
  DType input;
  DType output;
};
InputOutput split_dtype(std::string_view text);

/// What launches() gives for a problem with dense, well aligned operands and the scalars used when tuning, without
/// memory behind them: for geometry and LDS, not to be launched.
std::vector<Launch> dry_launches(const Operator& op, const Problem& problem, const Config& config);

/// What an operand takes in memory in an arrangement: padded as the arrangement needs.
OperandSpec arranged(const OperandSpec& spec, Arrangement arrangement);
/// `tensor` (rows) in another order; what arranged() says of its size holds.
HostTensor arrange(const OperandSpec& spec, Arrangement arrangement, const HostTensor& tensor);
/// The operands as `config` wants them.
std::vector<OperandSpec> arranged_operands(const Operator& op, const Problem& problem, const Config& config);

/// Dense views (row stride = cols, batch stride = rows * cols) over buffers in operand order.
std::vector<View> dense_views(std::span<const OperandSpec> specs, std::span<void* const> buffers);

}  // namespace wavetune::templates
