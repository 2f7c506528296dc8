// Where candidates come from: a portfolio of moves that is dealt out by what each has brought.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "search/space/search_space.h"
#include "search/strategy/untried.h"

namespace wavetune::search {

enum class Move : unsigned char {
  kept,       ///< stood high in the model's eyes before
  change,     ///< one parameter of a good configuration changed
  recombine,  ///< parameters of two good configurations mixed
  random,     ///< anywhere
};
inline constexpr std::size_t move_count = 4;

struct MovedPoint {
  PointId id = 0;
  Move move = Move::random;
};

class Moves {
 public:
  /// Up to `count` different untried configurations (not marked as taken). `elites`: good ones, best first; `kept`:
  /// what the model liked, best first.
  std::vector<MovedPoint> candidates(Untried& untried, std::span<const PointId> elites, std::span<const PointId> kept,
                                     std::size_t count) const;
  /// A proposal that came from `move` was measured; `success`: it was among the best so far.
  void credit(Move move, bool success);
  /// Parts of the pool that each move may fill; they sum to 1.
  std::array<double, move_count> shares() const;

 private:
  std::array<double, move_count> tried_{};
  std::array<double, move_count> succeeded_{};
};

}  // namespace wavetune::search
