#include "model/program.h"

namespace wavetune::model {

std::int64_t StepShape::value(Symbol symbol) const {
  switch (symbol) {
    case Symbol::one:
      return 1;
    case Symbol::tokens:
      return tokens;
    case Symbol::samples:
      return samples;
    case Symbol::context:
      return context;
    case Symbol::slots:
      return slots;
  }
  return 0;
}

db::Problem OpCall::problem(const StepShape& shape) const {
  db::Problem result{op, dtype, {}};
  for (const auto& [name, extent] : dims) result.dims.emplace(name, shape.value(extent));
  return result;
}

}  // namespace wavetune::model
