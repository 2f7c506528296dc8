#include "search/strategy/moves.h"

#include <algorithm>
#include <unordered_set>

#include "search/strategy/random_numbers.h"

namespace wavetune::search {
namespace {

// Every move starts as if it had been tried so often, with every second one a success, and old trials fade.
constexpr double prior_trials = 4;
constexpr double fade = 0.98;
// No move falls below this share: what is useless now may be what the search needs later.
constexpr double smallest_share = 0.1;

Point recombine(const SearchSpace& space, std::span<const PointId> elites, std::mt19937_64& random) {
  Point child = space.at(elites[below(random, elites.size())]);
  const Point other = space.at(elites[below(random, elites.size())]);
  for (std::size_t i = 0; i < child.size(); ++i) {
    if ((random() >> 63) != 0) child[i] = other[i];
  }
  return child;
}

}  // namespace

std::vector<MovedPoint> Moves::candidates(Untried& untried, std::span<const PointId> elites,
                                          std::span<const PointId> kept, std::size_t count) const {
  const SearchSpace& space = untried.space();
  std::vector<MovedPoint> pool;
  std::unordered_set<PointId> in_pool;
  const auto add = [&](PointId id, Move move) {
    if (untried.contains(id) && in_pool.insert(id).second) pool.push_back({id, move});
  };
  const std::array<double, move_count> parts = shares();
  const auto room_of = [&](Move move) {
    return pool.size() + static_cast<std::size_t>(parts[static_cast<std::size_t>(move)] * static_cast<double>(count));
  };

  std::size_t room = room_of(Move::change);
  for (const PointId elite : elites) {
    for (const PointId id : space.changes(elite)) add(id, Move::change);
    if (pool.size() >= room) break;
  }
  if (elites.size() > 1) {
    room = room_of(Move::recombine);
    // Children are often invalid or known.
    for (std::size_t attempt = 0; attempt < 2 * count && pool.size() < room; ++attempt) {
      if (const auto id = space.find(recombine(space, elites, untried.random()))) add(*id, Move::recombine);
    }
  }
  room = room_of(Move::kept);
  for (std::size_t i = 0; i < kept.size() && pool.size() < room; ++i) add(kept[i], Move::kept);
  for (std::size_t attempt = 0; attempt < 2 * count && pool.size() < count; ++attempt)
    add(space.draw(untried.random()), Move::random);
  return pool;
}

void Moves::credit(Move move, bool success) {
  for (std::size_t i = 0; i < move_count; ++i) {
    tried_[i] *= fade;
    succeeded_[i] *= fade;
  }
  tried_[static_cast<std::size_t>(move)] += 1;
  if (success) succeeded_[static_cast<std::size_t>(move)] += 1;
}

std::array<double, move_count> Moves::shares() const {
  std::array<double, move_count> parts{};
  double sum = 0;
  for (std::size_t i = 0; i < move_count; ++i) {
    parts[i] = (succeeded_[i] + 0.5 * prior_trials) / (tried_[i] + prior_trials);
    sum += parts[i];
  }
  for (double& part : parts)
    part = smallest_share + (1 - static_cast<double>(move_count) * smallest_share) * part / sum;
  return parts;
}

}  // namespace wavetune::search
