// The paged cache's book-keeping: which pages are free. Pure: the memory itself is a rank's cache buffers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace wavetune::engine {

/// Pages are numbered 0 .. pages-1. The lowest free page is not preferred; the most recently freed one is (it is warm).
class PagePool {
 public:
  explicit PagePool(std::int64_t pages);

  std::int64_t size() const { return size_; }
  std::int64_t free() const { return static_cast<std::int64_t>(free_.size()); }
  std::int64_t used() const { return size_ - free(); }

  /// Nothing when all pages are in use.
  std::optional<std::int32_t> take();
  /// Gives pages back. Throws Error internal for a page that is free already or does not exist.
  void give_back(std::span<const std::int32_t> pages);

 private:
  std::int64_t size_;
  std::vector<std::int32_t> free_;
  std::vector<bool> taken_;
};

}  // namespace wavetune::engine
