#include "model/tokenizer/bpe.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "db/base/error.h"

namespace wavetune::model {
namespace {

std::uint64_t pair_key(TokenId left, TokenId right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) | static_cast<std::uint32_t>(right);
}

constexpr std::size_t short_word = 24;
constexpr std::uint32_t no_rank = UINT32_MAX;

/// A piece of the word in a doubly linked list; a merge puts the right piece into the left one.
struct Symbol {
  TokenId id = 0;
  int previous = -1, next = -1;
  bool alive = true;
};

/// A merge that was possible when it was queued; it is stale when one of its pieces has changed since.
struct Candidate {
  std::uint32_t rank = 0;
  int position = 0;  ///< of the left piece
  TokenId left = 0, right = 0, result = 0;
  /// Lowest rank first, then leftmost.
  bool operator>(const Candidate& other) const {
    return std::tie(rank, position) > std::tie(other.rank, other.position);
  }
};

using CandidateQueue = std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>>;

}  // namespace

Bpe::Bpe(std::unordered_map<std::string, TokenId> vocabulary, const std::vector<Merge>& merges, bool ignore_merges,
         const std::string& source)
    : vocabulary_(std::move(vocabulary)), ignore_merges_(ignore_merges) {
  for (int byte = 0; byte < 256; ++byte) {
    const auto found = vocabulary_.find(std::string(1, static_cast<char>(byte)));
    if (found == vocabulary_.end()) {
      fail(ErrorKind::bad_data, "{}: the vocabulary has no entry for byte 0x{:02x}; byte-level BPE needs all 256",
           source, byte);
    }
    byte_ids_[static_cast<std::size_t>(byte)] = found->second;
  }
  merges_.reserve(merges.size());
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    // As in Hugging Face's loader, the last of two equal pairs counts.
    merges_[pair_key(merges[rank].left, merges[rank].right)] = {static_cast<std::uint32_t>(rank), merges[rank].result};
  }
}

const Bpe::Result* Bpe::find_merge(TokenId left, TokenId right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

void Bpe::encode(std::string_view word, std::vector<TokenId>& out) const {
  if (word.empty()) return;
  if (ignore_merges_) {
    if (const auto whole = vocabulary_.find(std::string(word)); whole != vocabulary_.end()) {
      out.push_back(whole->second);
      return;
    }
  }
  if (word.size() <= short_word) {
    encode_short(word, out);
  } else {
    encode_long(word, out);
  }
}

/// Most words: the best pair is looked for again after each merge, without allocating.
void Bpe::encode_short(std::string_view word, std::vector<TokenId>& out) const {
  std::array<TokenId, short_word> ids{};
  std::array<Result, short_word> merges{};  // of each piece with the next one
  std::size_t size = word.size();
  const auto look_up = [&](std::size_t i) {
    const Result* merge = i + 1 < size ? find_merge(ids[i], ids[i + 1]) : nullptr;
    merges[i] = merge != nullptr ? *merge : Result{no_rank, 0};
  };
  for (std::size_t i = 0; i < size; ++i) ids[i] = byte_ids_[static_cast<unsigned char>(word[i])];
  for (std::size_t i = 0; i < size; ++i) look_up(i);
  for (;;) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < size; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == no_rank) break;
    ids[best] = merges[best].id;
    --size;
    for (std::size_t i = best + 1; i < size; ++i) {
      ids[i] = ids[i + 1];
      merges[i] = merges[i + 1];
    }
    look_up(best);
    if (best > 0) look_up(best - 1);
  }
  out.insert(out.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(size));
}

/// Words of any length: a heap of possible merges.
void Bpe::encode_long(std::string_view word, std::vector<TokenId>& out) const {
  const int size = static_cast<int>(word.size());
  std::vector<Symbol> symbols(word.size());
  for (int i = 0; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(word[static_cast<std::size_t>(i)]);
    symbols[static_cast<std::size_t>(i)] = {byte_ids_[byte], i - 1, i + 1 < size ? i + 1 : -1, true};
  }
  const auto at = [&](int position) -> Symbol& { return symbols[static_cast<std::size_t>(position)]; };
  CandidateQueue queue;
  const auto consider = [&](int position) {
    if (position < 0 || at(position).next < 0) return;
    const TokenId left = at(position).id, right = at(at(position).next).id;
    if (const Result* merge = find_merge(left, right)) queue.push({merge->rank, position, left, right, merge->id});
  };
  for (int i = 0; i + 1 < size; ++i) consider(i);

  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = at(best.position);
    if (!left.alive || left.id != best.left || left.next < 0 || at(left.next).id != best.right) continue;
    Symbol& right = at(left.next);
    left.id = best.result;
    left.next = right.next;
    right.alive = false;
    if (left.next >= 0) at(left.next).previous = best.position;
    consider(left.previous);
    consider(best.position);
  }
  for (int position = 0; position >= 0; position = at(position).next) out.push_back(at(position).id);
}

}  // namespace wavetune::model
