// The host side of operators that look into a paged cache through a block table: dims sequences, pages, page, context.
#pragma once

#include "templates/common/launch.h"

namespace wavetune::templates {

/// Longest context that kernels are written for: GLM-5.2 has 1M positions.
inline constexpr std::int64_t max_context = std::int64_t{1} << 21;

/// Throws Error usage when a sequence's pages do not hold `context` tokens.
void check_pages(const Operator& op, const Problem& problem);

/// Slot of position s of a sequence: block_table[sequence][s / page] * page + s % page.
std::int64_t slot_of(const Problem& problem, const HostTensor& block_table, std::int64_t sequence, std::int64_t s);

struct PagedTensors {
  HostTensor& positions;
  HostTensor& sequence;
  HostTensor& block_table;
};

/// Random pages below `page_count`, sequences, and positions below `context`; the first rows have the last position,
/// the first, and one page less than everything.
void fill_pages(const Problem& problem, std::mt19937_64& random, std::int64_t page_count, PagedTensors tensors);

}  // namespace wavetune::templates
