// Times that are known of operators, and what lies between the shapes that they are known at.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "db/problem.h"

namespace wavetune::search {

/// Curves of time over m, one for each family (a problem without its dimensions of work and capacity) and each value of
/// its other dimensions of work (context, rows). Between two known m the time is a straight line: what a product takes
/// is a constant plus a share for each row, as long as its kernel stays the same.
class KnownTimes {
 public:
  /// The smallest time of a shape counts.
  void add(const db::Problem& problem, double us);
  bool knows_family(const db::Problem& problem) const;

  enum class Place {
    known,    ///< at this very m
    between,  ///< on the line between two, or below the smallest (whose time it then has)
    beyond,   ///< above the largest m
    context,  ///< known at other contexts only
  };
  struct Found {
    Place place = Place::known;
    double us = 0;        ///< at `nearest`
    db::Problem nearest;  ///< the shape on the known curve: at the wanted m unless `beyond`
    /// `beyond`: what the curve's last two shapes grow by for one more row; nothing when it has only one.
    std::optional<double> us_per_row;
  };
  std::optional<Found> find(const db::Problem& problem) const;

 private:
  struct Shape {
    std::int64_t context = 0, rows = 0;
    auto operator<=>(const Shape&) const = default;
  };
  using Curve = std::map<std::int64_t, double>;

  std::map<std::string, std::map<Shape, Curve>> curves_;
};

}  // namespace wavetune::search
