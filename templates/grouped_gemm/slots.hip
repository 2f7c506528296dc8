// Which sorted rows a block works on. Only the device knows how many token-expert pairs an expert has: the grid is an
// upper bound, and a block finds its rows by binary search in `offsets`.
namespace grouped {

struct Rows {
  int expert, begin, end;  // sorted rows of the tile; empty when the slot is not used
};

/// With few pairs (decode) there is one slot for each sorted row (by_row). Otherwise expert e begins at slot offsets[e]
/// / bm + e, which leaves it floor(offsets[e + 1] / bm) - floor(offsets[e] / bm) + 1 slots: at least as many as it has
/// tiles of bm rows.
__device__ inline Rows rows_of_slot(const int* offsets, int experts, bool by_row, int bm, int slot) {
  const auto first_slot = [&](int e) { return by_row ? offsets[e] : offsets[e] / bm + e; };
  int low = 0, high = experts;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (first_slot(middle) <= slot) {
      low = middle;
    } else {
      high = middle;
    }
  }
  const int first = offsets[low], end = offsets[low + 1];
  const int begin = by_row ? slot : first + (slot - first_slot(low)) * bm;
  if (begin < first || begin >= end || (begin - first) % bm != 0) return {low, 0, 0};
  return {low, begin, wt::min(end, begin + bm)};
}

/// silu(gate) * up.
__device__ inline float swiglu(float gate, float up) { return gate / (1.0f + wt::exp(-gate)) * up; }

}  // namespace grouped
