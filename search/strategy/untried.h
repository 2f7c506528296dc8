// Which configurations of a space have not been handed out.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "search/space/search_space.h"

namespace wavetune::search {

/// Memory grows with what was handed out, not with the space.
class Untried {
 public:
  Untried(std::shared_ptr<const SearchSpace> space, std::uint64_t seed);

  const SearchSpace& space() const { return *space_; }
  std::uint64_t left() const { return space_->size() - taken_.size(); }
  bool contains(PointId point) const { return taken_.count(point) == 0; }
  /// Marks `point` as handed out. False when it was before.
  bool take(PointId point);
  /// A random one, uniform; marks it. Nothing when none is left.
  std::optional<PointId> draw();
  /// One of `points` that is untried, at random; marks it.
  std::optional<PointId> draw_from(std::vector<PointId> points);
  std::mt19937_64& random() { return random_; }

 private:
  std::shared_ptr<const SearchSpace> space_;
  std::mt19937_64 random_;
  std::unordered_set<PointId> taken_;
  // A random order of all points, made as far as it is needed: a Fisher-Yates shuffle that stores only moved entries.
  std::unordered_map<std::uint64_t, PointId> moved_;
  std::uint64_t next_ = 0;
};

}  // namespace wavetune::search
