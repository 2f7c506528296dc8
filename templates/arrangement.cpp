// Operands in the orders that kernels read them in.
#include "db/base/error.h"
#include "templates/common/launch.h"
#include "templates/gemm/arrange.h"
#include "templates/operator.h"

namespace wavetune::templates {

OperandSpec arranged(const OperandSpec& spec, Arrangement arrangement) {
  OperandSpec padded = spec;
  switch (arrangement) {
    case Arrangement::rows:
      break;
    case Arrangement::shuffled_weights:
      padded.rows = ceil_div(spec.rows, shuffle_rows) * shuffle_rows;
      break;
    case Arrangement::shuffled_scales:
      padded.rows = ceil_div(spec.rows, scale_unit_rows) * scale_unit_rows;
      padded.cols = ceil_div(spec.cols, scale_unit_cols) * scale_unit_cols;
      break;
  }
  return padded;
}

HostTensor arrange(const OperandSpec& spec, Arrangement arrangement, const HostTensor& tensor) {
  if (arrangement == Arrangement::rows) return tensor;
  const OperandSpec padded = arranged(spec, arrangement);
  HostTensor result(spec.dtype, padded.count());
  const std::size_t from = tensor.bytes().size() / static_cast<std::size_t>(spec.batch);
  const std::size_t to = result.bytes().size() / static_cast<std::size_t>(spec.batch);
  for (std::size_t batch = 0; batch < static_cast<std::size_t>(spec.batch); ++batch) {
    const auto source = tensor.bytes().subspan(batch * from, from);
    const auto target = result.bytes().subspan(batch * to, to);
    if (arrangement == Arrangement::shuffled_weights) {
      shuffle_weights(source, spec.rows, static_cast<std::int64_t>(bytes_for(spec.dtype, spec.cols)), target);
    } else {
      shuffle_scales(source, spec.rows, spec.cols, target);
    }
  }
  return result;
}

std::vector<OperandSpec> arranged_operands(const Operator& op, const Problem& problem, const Config& config) {
  std::vector<OperandSpec> specs = op.operands(problem);
  for (std::size_t i = 0; i < specs.size(); ++i) specs[i] = arranged(specs[i], op.arrangement(problem, config, i));
  return specs;
}

}  // namespace wavetune::templates
