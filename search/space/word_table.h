// Rows of 64-bit words, each kept once: what partial points, and then nodes, are merged by.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace wavetune::search {

class WordTable {
 public:
  /// `width`: words a row; rows of different lengths when it is `any_width`.
  static constexpr std::size_t any_width = ~std::size_t{0};
  explicit WordTable(std::size_t width) : width_(width), slots_(1024, none) {}

  /// The number of the row, which is size() of before if it is new.
  std::uint32_t insert(std::span<const std::uint64_t> row) {
    const std::uint64_t hash = hash_of(row);
    std::size_t at = hash & (slots_.size() - 1);
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    while (slots_[at].row != none.row) {
      if (slots_[at].tag == tag && equal(slots_[at].row, row)) return slots_[at].row;
      at = (at + 1) & (slots_.size() - 1);
    }
    const auto number = static_cast<std::uint32_t>(size_++);
    slots_[at] = {number, tag, hash};
    words_.insert(words_.end(), row.begin(), row.end());
    if (width_ == any_width) ends_.push_back(words_.size());
    if (size_ * 2 > slots_.size()) grow();
    return number;
  }

  /// Keeps its memory.
  void clear() {
    size_ = 0;
    words_.clear();
    ends_.clear();
    std::fill(slots_.begin(), slots_.end(), none);
  }

  std::size_t size() const { return size_; }
  std::span<const std::uint64_t> row(std::size_t number) const {
    if (width_ != any_width) return {words_.data() + number * width_, width_};
    const std::size_t begin = number == 0 ? 0 : ends_[number - 1];
    return {words_.data() + begin, ends_[number] - begin};
  }

 private:
  struct Place {
    std::uint32_t row = 0;
    std::uint32_t tag = 0;
    std::uint64_t hash = 0;
  };
  static constexpr Place none{~std::uint32_t{0}, 0, 0};

  static std::uint64_t hash_of(std::span<const std::uint64_t> row) {
    std::uint64_t hash = 0x9E3779B97F4A7C15;
    for (const std::uint64_t word : row) {
      hash = (hash ^ word) * 0xD6E8FEB86659FD93;
      hash ^= hash >> 32;
    }
    hash *= 0xD6E8FEB86659FD93;
    return hash ^ (hash >> 29);
  }

  bool equal(std::uint32_t number, std::span<const std::uint64_t> other) const {
    const auto mine = row(number);
    if (mine.size() != other.size()) return false;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (mine[i] != other[i]) return false;
    }
    return true;
  }

  void grow() {
    std::vector<Place> larger(slots_.size() * 4, none);
    for (const Place& place : slots_) {
      if (place.row == none.row) continue;
      std::size_t at = place.hash & (larger.size() - 1);
      while (larger[at].row != none.row) at = (at + 1) & (larger.size() - 1);
      larger[at] = place;
    }
    slots_ = std::move(larger);
  }

  std::size_t width_;
  std::size_t size_ = 0;
  std::vector<Place> slots_;
  std::vector<std::uint64_t> words_;
  std::vector<std::size_t> ends_;
};

}  // namespace wavetune::search
