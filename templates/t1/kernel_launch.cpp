#include "templates/t1/kernel_launch.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "db/base/error.h"

namespace wavetune::templates {
namespace {

constexpr std::array<std::string_view, 3> axes = {"X", "Y", "Z"};
constexpr std::array<std::string_view, 3> divisor_fields = {"GridDivX", "GridDivY", "GridDivZ"};
// Kernel Tuner's names for the threads of a block.
constexpr std::array<std::string_view, 3> usual_block = {"block_size_x", "block_size_y", "block_size_z"};

// HIP's limits: blocks in x, blocks in y and z, threads in all.
constexpr std::int64_t most_blocks = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t most_blocks_yz = 65535;
constexpr std::int64_t most_threads = 1024;

Expression one(const db::JsonReader& place) { return Expression::parse("1", place.path()); }

/// {X, Y, Z}; absent ones are 1.
std::array<Expression, 3> read_size(const db::JsonReader& place, SpecReader& reader) {
  std::array<Expression, 3> size{one(place), one(place), one(place)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (const auto axis = place.find(axes[i])) size[i] = reader.expression(*axis);
  }
  reader.note_unknown(place, {"X", "Y", "Z"});
  return size;
}

std::array<Expression, 3> usual_local_size(const db::JsonReader& place, const SpecReader& reader) {
  std::array<Expression, 3> size{one(place), one(place), one(place)};
  bool any = false;
  for (std::size_t i = 0; i < usual_block.size(); ++i) {
    if (std::find(reader.names().begin(), reader.names().end(), usual_block[i]) == reader.names().end()) continue;
    size[i] = Expression::parse(usual_block[i], place.path());
    any = true;
  }
  if (!any) place.fail_here("member 'LocalSize' is missing, and there is no parameter block_size_x to take instead");
  return size;
}

std::int64_t positive(const Expression& expression, const Scope& scope, std::int64_t most) {
  const std::int64_t value = expression.integer(scope);
  if (value < 1 || value > most) {
    fail(ErrorKind::bad_data, "{}: '{}' is {}; it must be 1 to {}", expression.where(), expression.text(), value, most);
  }
  return value;
}

std::int64_t round_up(std::int64_t value, std::int64_t divisor) { return value / divisor + (value % divisor != 0); }

}  // namespace

KernelLaunch read_launch(const db::JsonReader& place, SpecReader& reader, std::vector<std::int64_t> problem_size) {
  const auto local = place.find("LocalSize");
  KernelLaunch launch{local ? read_size(*local, reader) : usual_local_size(place, reader),
                      {},
                      false,
                      {},
                      false,
                      {},
                      std::move(problem_size)};
  if (const auto type = place.find("GlobalSizeType"))
    launch.global_in_threads = reader.word(*type, {"CUDA", "HIP", "OpenCL"}) == 2;
  for (std::size_t i = 0; i < divisor_fields.size(); ++i) {
    const auto list = place.find(divisor_fields[i]);
    if (!list) continue;
    for (const db::JsonReader& divisor : list->elements()) launch.divisors[i].push_back(reader.expression(divisor));
    launch.divided = launch.divided || !launch.divisors[i].empty();
  }
  if (const auto global = place.find("GlobalSize")) {
    launch.global = read_size(*global, reader);
    if (launch.divided) reader.note(global->path() + " is not used: GridDiv gives the number of blocks");
  }
  if (launch.divided && launch.problem_size.empty()) place.fail_here("GridDiv divides ProblemSize, which is missing");
  if (!launch.divided && !launch.global) place.fail_here("member 'GlobalSize' is missing, and so is GridDivX");
  if (const auto memory = place.find("SharedMemory")) launch.shared_memory = reader.expression(*memory);
  return launch;
}

void set_geometry(const KernelLaunch& kernel, const Scope& scope, Launch& launch) {
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t local = positive(kernel.local[i], scope, most_threads);
    launch.block[i] = static_cast<std::uint32_t>(local);
    std::int64_t blocks = 1;
    if (kernel.divided) {
      std::int64_t divisor = 1;
      for (const Expression& factor : kernel.divisors[i]) divisor *= positive(factor, scope, most_blocks);
      blocks = i < kernel.problem_size.size() ? round_up(kernel.problem_size[i], divisor) : 1;
    } else {
      const Expression& size = (*kernel.global)[i];
      blocks = positive(size, scope, kernel.global_in_threads ? most_blocks * most_threads : most_blocks);
      if (kernel.global_in_threads) blocks = round_up(blocks, local);
    }
    const std::int64_t most = i == 0 ? most_blocks : most_blocks_yz;
    if (blocks > most) {
      fail(ErrorKind::bad_data, "{}: {} blocks in {}; a launch has at most {}", kernel.local[i].where(), blocks,
           axes[i], most);
    }
    launch.grid[i] = static_cast<std::uint32_t>(blocks);
  }
  if (!kernel.shared_memory) return;
  const std::int64_t bytes = kernel.shared_memory->integer(scope);
  if (bytes < 0 || bytes > std::numeric_limits<std::int32_t>::max()) {
    fail(ErrorKind::bad_data, "{}: '{}' is {} bytes", kernel.shared_memory->where(), kernel.shared_memory->text(),
         bytes);
  }
  launch.lds_bytes = static_cast<std::uint32_t>(bytes);
}

}  // namespace wavetune::templates
