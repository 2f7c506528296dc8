// From a wave's sums to C or to the workspace of partial sums. A lane holds runs of four neighbouring columns.
namespace gemm {

using Out = wt::element<cfg::out_dtype>;

struct Place {
  int i0, j0;  // row and column
};

constexpr int runs = tile == 16 ? 1 : 4;  // runs of four columns in a lane's part of a tile
/// First column of run i in a tile.
__device__ inline int run_col(int i, int lane) { return i * 8 + lane / tile * 4; }

__device__ inline wt::vec<4> run_of(const acc& sum, int i) {
  wt::vec<4> v;
  WT_UNROLL
  for (int x = 0; x < 4; ++x) v[x] = sum[i * 4 + x];
  return v;
}

/// Where results go: `cols` columns of rows whose offsets from `out`, in bytes, are `wt::outside` for rows that do not
/// exist.
template <class T>
struct Target {
  wt::window out;
  int cols;
  bool in_runs;  // cols and the rows' starts are multiples of four elements: four columns can be written at once

  __device__ inline u32 at(u32 row, int col) const {
    return row == wt::outside ? row : row + col * static_cast<u32>(sizeof(T));
  }
  __device__ inline void put(u32 row, int col, const wt::vec<4>& v) const {
    if (in_runs) {  // the same for all lanes
      wt::store_within(out, col < cols ? at(row, col) : wt::outside, wt::pack<T>(v));
    } else {
      WT_UNROLL
      for (int x = 0; x < 4; ++x)
        wt::store_within(out, col + x < cols ? at(row, col + x) : wt::outside, wt::cast<T>(v[x]));
    }
  }
};

/// Multiplies the sums of a wave whose first row and column in the block's tile are `place` with scales of whole rows:
/// x(row), w(column).
template <int NM, int NN, class ScaleX, class ScaleW>
__device__ inline void scale_rows(Sums<NM, NN>& sums, const ScaleX& x, const ScaleW& w, Place place, int lane) {
  WT_UNROLL
  for (int mt = 0; mt < NM; ++mt) {
    const float fx = x(place.i0 + mt * tile + lane % tile);
    WT_UNROLL
    for (int nt = 0; nt < NN; ++nt) {
      WT_UNROLL
      for (int i = 0; i < runs * 4; ++i)
        sums.v[mt][nt][i] *= fx * w(place.j0 + nt * tile + run_col(i / 4, lane) + i % 4);
    }
  }
}

/// Each lane writes its runs. row_at(i) is the offset of row i of the block's tile.
template <int NM, int NN, class T, class RowAt>
__device__ inline void store_runs(const Sums<NM, NN>& sums, const Target<T>& target, const RowAt& row_at, Place place,
                                  int lane) {
  WT_UNROLL
  for (int mt = 0; mt < NM; ++mt) {
    const u32 row = row_at(place.i0 + mt * tile + lane % tile);
    WT_UNROLL
    for (int nt = 0; nt < NN; ++nt) {
      WT_UNROLL
      for (int i = 0; i < runs; ++i)
        target.put(row, place.j0 + nt * tile + run_col(i, lane), run_of(sums.v[mt][nt], i));
    }
  }
}

/// The wave turns its tile, one row tile after the other, in its own part of LDS and writes whole rows of it, 16 bytes
/// a lane. `lds` has room for tile x (NN * tile + turn_pad) elements of the wave's own.
constexpr int turn_pad = 16 / static_cast<int>(sizeof(Out));
template <int NM, int NN, class RowAt>
__device__ inline void store_rows(const Sums<NM, NN>& sums, const Target<Out>& target, const RowAt& row_at, Place place,
                                  int lane, Out* lds) {
  constexpr int width = NN * tile, pitch = width + turn_pad;
  constexpr int run = 16 / static_cast<int>(sizeof(Out));  // elements of a lane's access
  WT_UNROLL
  for (int mt = 0; mt < NM; ++mt) {
    WT_UNROLL
    for (int nt = 0; nt < NN; ++nt) {
      WT_UNROLL
      for (int i = 0; i < runs; ++i) {
        wt::store(lds + lane % tile * pitch + nt * tile + run_col(i, lane), run_of(sums.v[mt][nt], i));
      }
    }
    wt::wave_sync();
    WT_UNROLL
    for (int at = 0; at < tile * width / run; at += 64) {
      const int e = (at + lane) * run, row = e / width, col = place.j0 + e % width;
      if (row >= tile) continue;  // a tile smaller than one access of all lanes
      const Out* const from = lds + row * pitch + e % width;
      const u32 to = row_at(place.i0 + mt * tile + row);
      if (target.in_runs && col + run <= target.cols) {
        wt::store_within(target.out, target.at(to, col), *reinterpret_cast<const chunk*>(from));
      } else {
        for (int x = 0; x < run; ++x) {
          wt::store_within(target.out, col + x < target.cols ? target.at(to, col + x) : wt::outside, from[x]);
        }
      }
    }
    wt::wave_sync();
  }
}

}  // namespace gemm
