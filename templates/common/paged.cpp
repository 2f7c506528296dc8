#include "templates/common/paged.h"

#include <algorithm>

#include "db/base/error.h"
#include "templates/fill.h"

namespace wavetune::templates {

void check_pages(const Operator& op, const Problem& problem) {
  const std::int64_t pages = problem.dim("pages"), page = problem.dim("page"), context = problem.dim("context");
  if (pages * page < context) {
    fail(ErrorKind::usage, "{}: pages={} of page={} slots hold less than context={}", op.name(), pages, page, context);
  }
}

std::int64_t slot_of(const Problem& problem, const HostTensor& block_table, std::int64_t sequence, std::int64_t s) {
  const std::int64_t page = problem.dim("page");
  return static_cast<std::int64_t>(block_table.at(sequence * problem.dim("pages") + s / page)) * page + s % page;
}

void fill_pages(const Problem& problem, std::mt19937_64& random, std::int64_t page_count, PagedTensors tensors) {
  const std::int64_t context = problem.dim("context");
  fill_indices(tensors.positions, random, 0, context);
  const std::int64_t special[] = {context - 1, 0, std::max<std::int64_t>(context - 1 - problem.dim("page"), 0)};
  for (std::int64_t row = 0; row < std::min<std::int64_t>(tensors.positions.count(), std::size(special)); ++row) {
    tensors.positions.set(row, static_cast<double>(special[row]));
  }
  fill_indices(tensors.sequence, random, 0, problem.dim("sequences"));
  if (page_count >= tensors.block_table.count()) {
    fill_distinct(tensors.block_table, random, page_count);
  } else {
    fill_indices(tensors.block_table, random, 0, page_count);
  }
}

}  // namespace wavetune::templates
