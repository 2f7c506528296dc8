// The strategies by function; make_strategy (strategy.h) finds them by name.
#pragma once

#include <memory>

#include "search/strategy/strategy.h"

namespace wavetune::search {

using MakeStrategy = std::unique_ptr<Strategy>(std::shared_ptr<const SearchSpace> space,
                                               const StrategyOptions& options);

/// Valid configurations in a random order.
MakeStrategy make_random;
/// Random start, then simulated annealing over ordinal neighbours, from the best found.
MakeStrategy make_annealing;
/// All valid configurations in the order of Space::enumerate.
MakeStrategy make_exhaustive;
/// DE/best/1/bin over value indices, asynchronous, constraint-aware.
MakeStrategy make_differential_evolution;
/// Steady-state genetic algorithm: crossover, mutation, repair.
MakeStrategy make_genetic;
/// Greedy descent with restarts near the best and at random.
MakeStrategy make_local_search;
/// Extremely randomised trees over log(time), lower confidence bound.
MakeStrategy make_surrogate;
/// The default; see portfolio.cpp.
MakeStrategy make_portfolio;

}  // namespace wavetune::search
