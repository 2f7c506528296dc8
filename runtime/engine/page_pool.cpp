#include "runtime/engine/page_pool.h"

#include "db/base/error.h"

namespace wavetune::engine {

PagePool::PagePool(std::int64_t pages) : size_(pages), taken_(static_cast<std::size_t>(pages), false) {
  free_.reserve(static_cast<std::size_t>(pages));
  for (std::int64_t page = pages; page-- > 0;) free_.push_back(static_cast<std::int32_t>(page));
}

std::optional<std::int32_t> PagePool::take() {
  if (free_.empty()) return std::nullopt;
  const std::int32_t page = free_.back();
  free_.pop_back();
  taken_[static_cast<std::size_t>(page)] = true;
  return page;
}

void PagePool::give_back(std::span<const std::int32_t> pages) {
  for (std::int32_t page : pages) {
    if (page < 0 || page >= size_ || !taken_[static_cast<std::size_t>(page)]) {
      fail(ErrorKind::internal, "cache page {} given back but not taken (of {})", page, size_);
    }
    taken_[static_cast<std::size_t>(page)] = false;
    free_.push_back(page);
  }
}

}  // namespace wavetune::engine
