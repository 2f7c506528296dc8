// Where a sequence's tokens are in a paged cache of pages with cfg::page slots.

namespace paged {

// Slot of logical position s of a sequence, -1 when its row of the table, `pages` long, does not reach that far.
__device__ inline int slot(const int* table_row, int pages, int s) {
  const int page = s / cfg::page;
  if (page >= pages) return -1;
  return table_row[page] * cfg::page + s % cfg::page;
}

}  // namespace paged
