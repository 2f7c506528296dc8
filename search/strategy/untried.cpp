#include "search/strategy/untried.h"

#include <utility>

#include "search/strategy/random_numbers.h"

namespace wavetune::search {

Untried::Untried(std::shared_ptr<const SearchSpace> space, std::uint64_t seed)
    : space_(std::move(space)), random_(seed) {}

bool Untried::take(PointId point) { return taken_.insert(point).second; }

std::optional<PointId> Untried::draw() {
  while (next_ < space_->size()) {
    const std::uint64_t pick = next_ + below(random_, space_->size() - next_);
    const auto entry = moved_.try_emplace(pick, pick).first;
    const PointId point = entry->second;
    const auto here = moved_.find(next_);
    entry->second = here == moved_.end() ? next_ : here->second;
    moved_.erase(next_++);
    if (take(point)) return point;
  }
  return std::nullopt;
}

std::optional<PointId> Untried::draw_from(std::vector<PointId> points) {
  shuffle(points, random_);
  for (const PointId point : points) {
    if (take(point)) return point;
  }
  return std::nullopt;
}

}  // namespace wavetune::search
