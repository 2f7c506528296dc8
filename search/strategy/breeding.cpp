#include "search/strategy/breeding.h"

#include "search/strategy/random_numbers.h"

namespace wavetune::search {

std::vector<std::size_t> open_parameters(const SearchSpace& space) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < space.parameters().size(); ++i) {
    if (space.parameters()[i].values.size() > 1) open.push_back(i);
  }
  return open;
}

PointId repaired(const SearchSpace& space, Point child, const Point& parent, std::mt19937_64& random) {
  if (const auto found = space.find(child)) return *found;
  std::vector<std::size_t> differing;
  for (std::size_t i = 0; i < child.size(); ++i) {
    if (child[i] != parent[i]) differing.push_back(i);
  }
  shuffle(differing, random);
  for (const std::size_t i : differing) {
    child[i] = parent[i];
    if (const auto found = space.find(child)) return *found;
  }
  return *space.find(parent);
}

PointId perturbed(const SearchSpace& space, PointId point, int count, std::mt19937_64& random) {
  for (int i = 0; i < count; ++i) {
    const auto near = space.changes(point);
    if (near.empty()) break;
    point = near[below(random, near.size())];
  }
  return point;
}

}  // namespace wavetune::search
