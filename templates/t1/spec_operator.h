// A kernel from outside as an operator: what a T1 file says, in the form that search, measurement and database know.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "templates/t1/kernel_spec.h"

namespace wavetune::templates {

/// Its name is "spec:" and the T1 file's name; it has one problem, whose dims x, y, z are ProblemSize. Everything is
/// read when it is made: later changes of the files are not seen.
class SpecOperator final : public Operator {
 public:
  /// Throws Error bad_data or not_found that names the file and the place in it.
  explicit SpecOperator(const std::filesystem::path& file);
  ~SpecOperator() override;

  const T1File& file() const;
  const KernelSpec& spec() const;
  Problem problem() const;

  /// The reference is computed by kernels: run_reference() of search/measure does, with what follows.
  bool has_reference_kernel() const;
  std::string reference_source() const;
  Launch given_reference_launch(const Call& call) const;
  /// What it is, in words: "the kernel in its configuration a=1,b=2".
  std::string reference_description() const;

  std::string_view name() const override;
  std::vector<DType> dtypes() const override;
  void check(const Problem& problem) const override;
  std::vector<OperandSpec> operands(const Problem& problem) const override;
  Space space(const Problem& problem, const DeviceLimits& limits) const override;
  Config default_config(const Problem& problem, const DeviceLimits& limits) const override;
  std::vector<std::string> source_files() const override { return {}; }
  std::vector<SourceText> sources() const override;
  std::string source(const Problem& problem, const Config& config) const override;
  std::vector<std::string> compile_options() const override;
  db::NamedInts constants(const Problem&, const Config&) const override { return {}; }
  std::vector<Launch> launches(const Config& config, const Call& call) const override;
  void fill(const Problem& problem, std::mt19937_64& random, std::span<HostTensor> tensors) const override;
  /// Reads the files with the expected outputs, when the reference is those; else leaves `tensors` alone.
  void reference(const Problem& problem, const Scalars& scalars, std::span<HostTensor> tensors) const override;
  Tolerance tolerance(const Problem& problem) const override;
  Comparison compare(const Problem& problem, std::span<const HostTensor> got,
                     std::span<const HostTensor> expected) const override;
  ComparedOperand compared(const Problem& problem, std::size_t index) const override;
  Cost cost(const Problem& problem) const override;

 private:
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

/// What the names of the operators of this class begin with.
inline constexpr std::string_view spec_prefix = "spec:";

}  // namespace wavetune::templates
