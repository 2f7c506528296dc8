// Walking over rows, shared by the kernels whose work is rows of contiguous elements.
// cfg::threads threads make a block, cfg::threads_per_row of them (a power of two) work on one row.

namespace rows {

constexpr int per_block = cfg::threads / cfg::threads_per_row;

// The number of elements that one call of a body handles, as a type.
template <int N>
struct Width {
  static constexpr int value = N;
};

__device__ inline int thread_in_row() { return (int)threadIdx.x % cfg::threads_per_row; }
__device__ inline wt::i64 row_of_thread() {
  return (wt::i64)blockIdx.x * per_block + (int)threadIdx.x / cfg::threads_per_row;
}

// Calls body(col, Width<VEC>) for whole vectors of [begin, end), body(col, Width<1>) for the elements that are left
// over. begin is a multiple of VEC. Every element goes to the same thread in every walk over the same range.
template <int VEC, class Body>
__device__ inline void for_each(int begin, int end, Body body) {
  const int whole = end - (end - begin) % VEC;
  for (int col = begin + thread_in_row() * VEC; col < whole; col += cfg::threads_per_row * VEC) body(col, Width<VEC>());
  if constexpr (VEC > 1) {
    for (int col = whole + thread_in_row(); col < end; col += cfg::threads_per_row) body(col, Width<1>());
  }
}

}  // namespace rows
