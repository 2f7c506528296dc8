// Kernels in which every element stands alone: a block covers rows::per_block rows and cols_per_block columns.

namespace tile {

constexpr int cols_per_block = cfg::threads_per_row * cfg::vec * cfg::items;

// body(row, col, Width<W>) for all elements of the block's part of a [rows, cols] matrix.
template <int VEC, class Body>
__device__ inline void for_each(int row_count, int cols, Body body) {
  const wt::i64 row = rows::row_of_thread();
  if (row >= row_count) return;
  const int begin = (int)blockIdx.y * cols_per_block;
  const int end = wt::min(cols, begin + cols_per_block);
  rows::for_each<VEC>(begin, end, [&](int col, auto width) { body(row, col, width); });
}

}  // namespace tile
