// Path narrow: X into LDS, by all that multiply.
//
// LDS of X: [step][run of 128 bytes][row], chunk c of 16 bytes of row r at c ^ r % 8, as matrix instructions take it.
// With fp4 the order of k within a block of 32 is that in which W's words are unpacked (narrow_fp4.hip): lane q of a
// quad has W's numbers 8 q to 8 q + 7.
namespace narrow {

__device__ inline void worker_barrier() { wt::barrier_of(1, worker_threads); }

/// Chunk `c` of a step's row.
__device__ inline u32 place_of_chunk(u32 x, int step, int c, int row) {
  return x + static_cast<u32>(step * x_step_bytes + c / 8 * x_run_bytes + row * row_bytes + (c % 8 ^ row % 8) * 16);
}

/// A block of 32 k in the order of W's numbers. As bf16: numbers P and P + 4 of each lane's eight are neighbours, and
/// P's pairs of all four lanes a chunk. As fp8: even numbers in the first chunk and odd ones in the second.
template <int CHUNKS>
__device__ inline void part_words(const chunk (&from)[CHUNKS], chunk (&to)[CHUNKS]) {
  WT_UNROLL
  for (int q = 0; q < 4; ++q) {
    if constexpr (CHUNKS == 4) {
      to[0].w[q] = __byte_perm(from[q].w[0], from[q].w[2], 0x5410);
      to[1].w[q] = __byte_perm(from[q].w[0], from[q].w[2], 0x7632);
      to[2].w[q] = __byte_perm(from[q].w[1], from[q].w[3], 0x5410);
      to[3].w[q] = __byte_perm(from[q].w[1], from[q].w[3], 0x7632);
    } else if constexpr (CHUNKS == 2) {
      const u32 low = from[q / 2].w[q % 2 * 2], high = from[q / 2].w[q % 2 * 2 + 1];
      to[0].w[q] = __byte_perm(low, high, 0x6420);
      to[1].w[q] = __byte_perm(low, high, 0x7531);
    }
  }
}

/// Rows of X, `steps` of them; row_x(i) is the address of row i, of which there are `rows`. `x_chunks`: of a row. What
/// lies beyond k becomes zero; rows that do not exist stay as they are, and nobody reads their sums.
template <class RowX>
__device__ inline void load_x(const Places& at, Steps steps, int rows, int x_chunks, const RowX& row_x) {
  constexpr int together = widens ? 4 : blocks ? 2 : 1;  // chunks that are put in order
  constexpr int step_items = x_runs * 8 / together;
  constexpr int batch = mx ? 12 / together : 1;  // items of a thread that are on their way at a time
  const int items = (steps.end - steps.begin) * step_items, all = rows * items;
  for (int base = static_cast<int>(threadIdx.x); base < all; base += batch * worker_threads) {
    if constexpr (mx) {
      chunk natural[batch][together] = {};
      WT_UNROLL
      for (int b = 0; b < batch; ++b) {
        const int i = wt::min(base + b * worker_threads, all - 1), item = i % items;
        const int position = steps.begin * x_runs * 8 + item * together;
        const chunk* const from = reinterpret_cast<const chunk*>(row_x(i / items)) + position;
        WT_UNROLL
        for (int e = 0; e < together; ++e) {
          if (position + e < x_chunks) natural[b][e] = from[e];
        }
      }
      WT_UNROLL
      for (int b = 0; b < batch; ++b) {
        const int i = wt::min(base + b * worker_threads, all - 1), item = i % items;
        chunk parted[together];
        part_words(natural[b], parted);
        WT_UNROLL
        for (int e = 0; e < together; ++e)
          wt::store_lds(place_of_chunk(at.x, item / step_items, item % step_items * together + e, i / items),
                        parted[e]);
      }
    } else {
      const int item = base % items, position = steps.begin * 8 + item;
      const char* const row = row_x(base / items);
      const bool there = position < x_chunks;
      wt::copy_async_if(place_of_chunk(at.x, item / step_items, item % step_items, base / items),
                        row + (there ? position * 16 : 0), there);
    }
  }
}

/// Ends load_x and whatever else the workers wrote to LDS for all of them.
__device__ inline void loaded() {
  if constexpr (!mx) {
    wt::commit_copies();
    wt::wait_copy_groups<0>();
  }
  wt::fence_async();
  worker_barrier();
}

}  // namespace narrow
