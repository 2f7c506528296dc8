#include "templates/common/launch.h"

#include <algorithm>

#include "db/base/error.h"

namespace wavetune::templates {

void check_shape(const Operator& op, const Problem& problem, std::initializer_list<DimRange> dims) {
  const std::vector<DType> types = op.dtypes();
  const bool known_type =
      std::any_of(types.begin(), types.end(), [&](DType type) { return to_string(type) == problem.dtype; });
  if (!known_type) {
    std::string names;
    for (DType type : types) names += (names.empty() ? "" : ", ") + std::string(to_string(type));
    fail(ErrorKind::usage, "{} has no kernel for dtype '{}'; it has: {}", op.name(), problem.dtype, names);
  }
  for (const DimRange& dim : dims) {
    const auto found = problem.dims.find(dim.name);
    if (found == problem.dims.end()) {
      fail(ErrorKind::usage, "{} needs the dimension '{}'; got '{}'", op.name(), dim.name, db::to_text(problem.dims));
    }
    if (found->second < dim.low || found->second > dim.high) {
      fail(ErrorKind::usage, "{}: {}={} is out of range; it must be {} to {}", op.name(), dim.name, found->second,
           dim.low, dim.high);
    }
  }
  for (const auto& given : problem.dims) {
    const bool known =
        std::any_of(dims.begin(), dims.end(), [&](const DimRange& dim) { return dim.name == given.first; });
    if (!known) fail(ErrorKind::usage, "{} has no dimension '{}' (given as {})", op.name(), given.first, given.second);
  }
}

int element_code(DType type) {
  switch (type) {
    case DType::f32:
      return 0;
    case DType::bf16:
      return 1;
    default:
      fail(ErrorKind::internal, "kernels have no element type {}", to_string(type));
  }
}

DType element_type(const Problem& problem) { return split_dtype(problem.dtype).input; }

db::NamedInts with_constants(db::NamedInts values,
                             std::initializer_list<std::pair<const std::string, std::int64_t>> more) {
  for (const auto& [name, value] : more) values.insert_or_assign(name, value);
  return values;
}

bool is_cpu(const DeviceLimits& limits) { return limits.arch.starts_with("cpu"); }

bool vector_aligned(const View& view, DType type, std::int64_t elements) {
  const auto size = static_cast<std::uintptr_t>(bytes_for(type, elements));
  return reinterpret_cast<std::uintptr_t>(view.data) % size == 0 && view.row_stride % elements == 0 &&
         view.batch_stride % elements == 0;
}

void require_chunks(const View& view, DType type, std::string_view op, std::string_view operand) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0 &&
                       bytes_of(type, view.row_stride) % 16 == 0 && bytes_of(type, view.batch_stride) % 16 == 0;
  if (!aligned) {
    fail(ErrorKind::usage, "{}: rows of {} must begin at multiples of 16 bytes in this configuration", op, operand);
  }
}

std::int64_t parameter(const Config& config, std::string_view name) {
  const auto found = config.find(name);
  if (found == config.end()) {
    fail(ErrorKind::internal, "the configuration '{}' has no parameter '{}'", db::to_text(config), name);
  }
  return found->second;
}

double scalar(const Call& call, std::string_view name) {
  if (call.scalars != nullptr) {
    const auto found = call.scalars->find(name);
    if (found != call.scalars->end()) return found->second;
  }
  fail(ErrorKind::internal, "a call of {} has no scalar '{}'", call.problem->key(), name);
}

}  // namespace wavetune::templates
