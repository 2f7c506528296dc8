// One operand's share of an LDS stage: which bytes a wave brings, where they lie, and how fragments are read back.
//
// cfg: waves (of the block), swizzle, direct.
//
// In fragment order the 16 bytes of every lane of a fragment lie one after the other: 1 KiB for each (row tile, step,
// chunk), read without bank conflicts and written by one copy. With swizzle the rows stay whole, so that a copy reads
// longer runs of memory, and the chunks of a row are exchanged so that the lanes of a read fall on different banks.
namespace gemm {

constexpr int waves = cfg::waves;

template <class L, int ROWS>
struct Stage {
  static constexpr bool in_rows = cfg::swizzle != 0 && !L::shuffled;
  static constexpr int row_chunks = L::row_bytes / 16;
  static constexpr int bytes = ROWS * L::row_bytes;
  static constexpr int units = bytes / 1024;  // copies of a wave's 64 x 16 bytes
  static constexpr int mine = units > waves ? units / waves : 1;
  static constexpr int blocks = ROWS / tile;
  static constexpr int parts = units / blocks;  // (step, chunk) pairs of a row tile
  static_assert(bytes % 1024 == 0 && L::row_bytes <= 1024);

  // Copy i of a wave brings row tile `tile_of(i) + wave part` and pair `part_of(i) + wave part`; with more waves than
  // copies some bring the same bytes, so that all waves count the same copies.
  static constexpr bool tiles_first = blocks >= waves;
  static constexpr int distinct = in_rows ? mine : tiles_first ? blocks / waves : 1;
  static __device__ constexpr int tile_of(int i) { return tiles_first ? i % (blocks / waves) * waves : 0; }
  static __device__ constexpr int part_of(int i) { return tiles_first ? i / (blocks / waves) : i * (waves / blocks); }
  static __device__ constexpr int position_of(int part) {
    return part / L::chunks * L::step_chunks + L::position(part % L::chunks);
  }
  static __device__ constexpr int skip(int i) { return in_rows ? 0 : position_of(part_of(i)) * chunk_bytes<L>; }
  static __device__ constexpr int lds_skip(int i) {
    return in_rows ? i * waves * 1024 : (tile_of(i) * parts + part_of(i)) * 1024;
  }
  static __device__ constexpr int spread(int row) {
    return row_chunks >= 8 ? row & 7 : row >> (row_chunks == 4 ? 1 : 2) & (row_chunks - 1);
  }

  u32 lane_offset[distinct];
  int lane_chunk[in_rows ? mine : 1];  // position of the lane's chunk in the stage's rows, without the constant part
  u32 wave_skip = 0, wave_lds = 0;

  /// row_of(row of the tile) is the row in memory: any row of the window for rows that do not exist.
  template <class RowOf>
  __device__ inline Stage(const Source& source, const RowOf& row_of) {
    const int wave = wt::wave() % (units < waves ? units : waves), lane = wt::lane();
    if constexpr (in_rows) {
      constexpr int lanes = row_chunks;  // of a row
      wave_lds = wave * 1024;
      WT_UNROLL
      for (int i = 0; i < mine; ++i) {
        const int row = (i * waves + wave) * (64 / lanes) + lane / lanes;
        lane_chunk[i] = lane % lanes ^ spread(row);
        lane_offset[i] = row_offset<L>(source, row_of(row)) + lane_chunk[i] * chunk_bytes<L>;
      }
    } else {
      const int wave_tile = tiles_first ? wave : wave % blocks, wave_part = tiles_first ? 0 : wave / blocks;
      wave_lds = (wave_tile * parts + wave_part) * 1024;
      wave_skip = position_of(wave_part) * chunk_bytes<L>;
      lane_chunk[0] = L::lane_position(lane / tile) + position_of(wave_part);
      WT_UNROLL
      for (int i = 0; i < distinct; ++i) {
        const int row = (tile_of(i) + wave_tile) * tile + lane % tile;
        lane_offset[i] = row_offset<L>(source, row_of(row)) + L::lane_position(lane / tile) * chunk_bytes<L>;
      }
    }
  }

  template <int I, bool TAIL>
  __device__ inline u32 offset(const Source& source, int first_chunk) const {
    const u32 at = lane_offset[I % distinct];
    if constexpr (!TAIL) return at;
    const int position =
        first_chunk + (in_rows ? lane_chunk[in_rows ? I : 0] : lane_chunk[0] + position_of(part_of(I)));
    return within(at, position, source.row_chunks);
  }

  /// Starts copy I of the stage whose rows begin at chunk `first_chunk`. TAIL: rows may end within it.
  template <int I, bool TAIL>
  __device__ inline void copy(const Source& source, int first_chunk, char* lds) const {
    wt::copy_chunk_to_lds<skip(I), lds_skip(I)>(source.window, offset<I, TAIL>(source, first_chunk),
                                                first_chunk * chunk_bytes<L> + wave_skip, lds + wave_lds);
  }

  /// All copies of a stage in two halves, through registers.
  template <bool TAIL>
  __device__ inline void load(const Source& source, int first_chunk, chunk (&to)[mine]) const {
    const u32 uniform = first_chunk * chunk_bytes<L> + wave_skip;
    repeat<mine>([&](auto i) {
      constexpr int I = decltype(i)::value;
      to[I] = wt::load_chunk(source.window, offset<I, TAIL>(source, first_chunk), uniform + skip(I));
    });
  }
  __device__ inline void write(const chunk (&from)[mine], char* lds) const {
    char* const at = lds + wave_lds + wt::lane() * 16;
    repeat<mine>([&](auto i) {
      constexpr int I = decltype(i)::value;
      *reinterpret_cast<chunk*>(at + lds_skip(I)) = from[I];
    });
  }

  /// Chunk C at step S of row tile `block`.
  template <int S, int C>
  static __device__ inline chunk read_chunk(const char* lds, int block, int lane) {
    if constexpr (in_rows) {
      const int row = lane % tile;
      const int at = (S * L::step_chunks + L::position(C)) ^ L::lane_position(lane / tile) ^ spread(row);
      return *reinterpret_cast<const chunk*>(lds + (block * tile + row) * L::row_bytes + at * 16);
    } else {
      return *reinterpret_cast<const chunk*>(lds + ((block * steps + S) * L::chunks + C) * 1024 + lane * 16);
    }
  }
};

}  // namespace gemm
