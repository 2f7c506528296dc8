// The stream path's copies from memory to the ring.
namespace stream {

/// Operands of a block. Rows of W's tile: row_w(r) for r a row of the tile, row_x(r) the address of a row of X or null
/// when there is none.
template <class RowX, class RowW>
struct Source {
  const char* w;
  const char* scale_x;  // groups: [k / 128][rows of X] floats
  const char* scale_w;  // mx: units; groups: [rows / 128][k / 128] floats
  i64 w_stride;         // bytes of a row (shuffled: of 16)
  i64 scale_x_stride, scale_w_stride;
  int x_chunks, w_chunks;  // of a row
  RowX row_x;
  RowW row_w;
};

constexpr int scale_copies = (units_n * units_k + 1) / 2;  // 16 bytes a lane

/// W's rows and scales: this wave's, of one stage at a time.
template <class S>
struct LoaderW {
  const S& source;
  const char* base;
  u32 row[2 * tiles_n];  // from the block's first row
  const char* scales[mx ? scale_copies : 1];

  __device__ inline explicit LoaderW(const S& s) : source(s) {
    const int lane = wt::lane();
    const auto offset = [&](int r) -> i64 { return shuffled ? r / 16 * s.w_stride + r % 16 * 16 : r * s.w_stride; };
    const i64 start = offset(s.row_w(0));
    base = s.w + start + chunk_bytes * (lane % 4);
    WT_UNROLL
    for (int j = 0; j < 2 * tiles_n; ++j)
      row[j] = static_cast<u32>(offset(s.row_w(first_row() + j * 8 + lane / 4)) - start);
    if constexpr (mx) {
      WT_UNROLL
      for (int i = 0; i < scale_copies; ++i) {
        const int unit = wt::min((i * 32 + lane) / 16, units_n * units_k - 1);
        const int r = s.row_w(first_row() + unit / units_k * unit_rows);
        scales[i] = s.scale_w + r / 32 * s.scale_w_stride + unit % units_k * 256 + lane % 16 * 16;
      }
    }
  }

  static constexpr int chunk_bytes = shuffled ? 256 : 16;  // between neighbouring chunks of a row

  /// Where this lane's chunk lies in the 512 bytes of eight rows by four chunks: as lanes read it back, or for blocks
  /// as ldmatrix does, [chunk][row], with rows permuted so that neither meets a bank twice.
  static __device__ inline u32 place() {
    const int lane = wt::lane();
    if constexpr (!blocks) return lane * 16;
    const int g = lane / 4, q = lane % 4;
    return q * 128 + (g ^ 2 * q) * 16;
  }

  /// The stage that begins at step `first`. TAIL: k may end within it; zeros from there on.
  template <bool TAIL>
  __device__ inline void issue(const Ring& ring, u32 slot, int first) const {
    const u32 to = ring.w + slot + place();
    const int chunk0 = first * 4;
    const char* const at = base + static_cast<i64>(chunk0) * chunk_bytes;
    WT_UNROLL
    for (int j = 0; j < 2 * tiles_n; ++j) {
      WT_UNROLL
      for (int i = 0; i < steps; ++i) {
        const bool there = !TAIL || chunk0 + i * 4 + wt::lane() % 4 < source.w_chunks;
        const char* const from = there ? at + row[j] + i * 4 * chunk_bytes : base;
        if constexpr (TAIL) {
          wt::copy_async_if(to + (j * steps + i) * 512, from, there);
        } else {
          wt::copy_async(to + (j * steps + i) * 512, from);
        }
      }
    }
    if constexpr (mx) {
      // A chunk of W is a block of 32: a unit's eight are two steps. Copies have 16 bytes: of smaller ones each lane's
      // is a request of its own.
      WT_UNROLL
      for (int i = 0; i < scale_copies; ++i) {
        const int unit = (i * 32 + wt::lane()) / 16;
        if (unit < units_n * units_k) {
          const bool there = !TAIL || chunk0 + unit % units_k * 8 < source.w_chunks;
          wt::copy_async_if(ring.w_scale + slot + (i * 32 + wt::lane()) * 16,
                            scales[i] + (there ? static_cast<i64>(first / 2) * 256 : 0), there);
        }
      }
    }
  }
};

/// X's rows, shared out over the waves of a turn. A wave reads eight rows by four chunks at once.
template <class S>
struct LoaderX {
  const S& source;
  static constexpr int units = tiles_m * (step_chunks_x / 4);  // of a step

  struct Item {
    u32 to;
    int row, chunk;  // in the step
  };
  static __device__ inline Item item(int unit) {
    const int lane = wt::lane(), r = lane / 4, c = lane % 4;
    if constexpr (widens) {
      // Lane q of a row multiplies chunks 4 q .. 4 q + 3.
      const int mt = unit / 4, q = unit % 4;
      return {static_cast<u32>(mt * 2048 + c * 512 + ((r * 4 + q) ^ c) * 16), mt * 8 + r, q * 4 + c};
    } else {
      return {static_cast<u32>(unit * 512 + lane * 16), unit * 8 + r, c};
    }
  }

  /// Calls f(place in the stage, address or null) for each of this lane's chunks.
  template <class F>
  __device__ inline void each(int first, const F& f) const {
    constexpr int all = units * steps;
    WT_UNROLL
    for (int i = 0; i < (all + wn - 1) / wn; ++i) {
      const int id = i * wn + wt::wave() % wn, step = id / units;
      if (all % wn != 0 && id >= all) break;
      const Item it = item(id % units);
      const int position = (first + step) * step_chunks_x + it.chunk;
      const char* const row = source.row_x(it.row);
      f(static_cast<u32>(step * step_chunks_x * bm * 16) + it.to,
        row != nullptr && position < source.x_chunks ? row + static_cast<i64>(position) * 16 : nullptr);
    }
  }
  __device__ inline void issue(const Ring& ring, u32 slot, int first) const {
    each(first, [&](u32 to, const char* from) {
      wt::copy_async_if(ring.x + slot + to, from != nullptr ? from : source.w, from != nullptr);
    });
  }
  /// The same through registers: copies of W that are on their way need not be waited for.
  __device__ inline void fetch(const Ring& ring, u32 slot, int first) const {
    each(first, [&](u32 to, const char* from) {
      wt::store_lds(ring.x + slot + to, from != nullptr ? *reinterpret_cast<const chunk*>(from) : chunk{});
    });
  }
};

/// Scales of `count` groups of k from group `first` on, by the whole block: [group]{rows of X, waves side by side}.
template <class S>
__device__ inline void fetch_group_scales(const S& source, u32 lds, int first, int count) {
  for (int i = wt::flat_thread(); i < count * group_floats; i += cfg::threads) {
    const int group = first + i / group_floats, r = i % group_floats;
    const bool in_k = group * 8 < source.x_chunks;
    u32 scale = 0;
    if (r < bm) {
      const int column = source.row_x.scale_column(r);
      if (in_k && column >= 0) {
        scale = reinterpret_cast<const u32*>(source.scale_x + group * source.scale_x_stride)[column];
      }
    } else if (in_k) {
      const i64 row = source.row_w((r - bm) * rows_w) / 128;
      scale = reinterpret_cast<const u32*>(source.scale_w + row * source.scale_w_stride)[group];
    }
    store_lds_word(lds + i * 4, scale);
  }
}

}  // namespace stream
