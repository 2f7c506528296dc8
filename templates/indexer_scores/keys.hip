struct Params {
  const void* q;
  const float* w;
  const void* cache;
  const int* positions;
  const int* sequence;
  const int* block_table;
  float* scores;
  wt::i64 q_row, w_row, cache_row, table_row, scores_row;
  int context, slots, sequences, pages;
  int aligned;
  float scale;
};

using T = wt::element<cfg::dtype>;

// The cached key of position s of the row's sequence; null where there is none to look at.
__device__ inline const T* key_of(const Params& p, int row, int s) {
  const int sequence = p.sequence[row];
  if (s > p.positions[row] || s >= p.context || sequence < 0 || sequence >= p.sequences) return nullptr;
  const int slot = paged::slot(p.block_table + sequence * p.table_row, p.pages, s);
  return slot >= 0 && slot < p.slots ? (const T*)p.cache + slot * p.cache_row : nullptr;
}
