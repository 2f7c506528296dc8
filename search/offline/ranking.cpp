#include "search/offline/ranking.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "runtime/isa/sm_occupancy.h"
#include "search/predict/predict_config.h"

namespace wavetune::search {
namespace {

// Variants of one tile that are kept while the space is gone through.
constexpr std::size_t kept_per_tile = 12;
// How much slower a tile is taken to be for each time it was named before.
constexpr double penalty_of_a_repeat = 0.03;

using Tile = std::vector<std::int64_t>;

/// What the model's error is mostly about. Configurations without such parameters are tiles of their own.
Tile tile_of(const db::Config& config) {
  Tile tile;
  for (const char* name : {"path", "bm", "bn", "bk", "wm", "wn", "wk", "tm", "tn"}) {
    const auto at = config.find(name);
    if (at != config.end()) tile.push_back(at->second);
  }
  if (tile.empty()) {
    for (const auto& [name, value] : config) tile.push_back(value);
  }
  return tile;
}

bool faster(const RankedConfig& a, const RankedConfig& b) { return a.predicted_us < b.predicted_us; }

/// The fastest variants of each tile. Visiting order breaks ties.
std::map<Tile, std::vector<RankedConfig>> best_of_tiles(const predict::Machine& machine, const TuneTask& task,
                                                        const templates::DeviceLimits& limits) {
  std::map<Tile, std::vector<RankedConfig>> tiles;
  task.op->space(task.problem, limits).visit([&](const db::Config& config) {
    const double us = predict::predicted_us(machine, *task.op, task.problem, config);
    if (!std::isfinite(us)) return true;
    std::vector<RankedConfig>& variants = tiles[tile_of(config)];
    if (variants.size() == kept_per_tile && variants.back().predicted_us <= us) return true;
    RankedConfig ranked{config, us};
    variants.insert(std::upper_bound(variants.begin(), variants.end(), ranked, faster), ranked);
    if (variants.size() > kept_per_tile) variants.pop_back();
    return true;
  });
  return tiles;
}

/// Waves per SIMD that the launches of a configuration are estimated to reach; 0 when one of them cannot be resident,
/// nothing when the architecture is not known or registers are not predicted.
std::optional<int> estimated_waves(const TuneTask& task, const db::Config& config,
                                   const templates::DeviceLimits& limits) {
  if (!isa::occupancy_on(limits.arch, {})) return std::nullopt;
  std::optional<int> fewest;
  for (const templates::ResourceEstimate& estimate : task.op->estimate(task.problem, config, limits)) {
    const isa::OccupancyResult fits =
        *isa::occupancy_on(limits.arch, {estimate.threads, estimate.vgprs, 0, estimate.lds_bytes});
    if (std::holds_alternative<isa::NotResident>(fits)) return 0;
    if (estimate.vgprs == 0) continue;
    const int waves = std::get<isa::Occupancy>(fits).waves_per_simd;
    fewest = std::min(fewest.value_or(waves), waves);
  }
  return fewest;
}

}  // namespace

std::vector<RankedConfig> ranked_configs(const predict::Machine& machine, const TuneTask& task,
                                         const templates::DeviceLimits& limits, std::size_t most) {
  struct Head {
    std::vector<RankedConfig> variants;
    std::size_t next = 0;
    double bid() const { return variants[next].predicted_us * (1 + penalty_of_a_repeat * static_cast<double>(next)); }
  };
  std::vector<Head> heads;
  for (auto& [tile, variants] : best_of_tiles(machine, task, limits)) heads.push_back({std::move(variants), 0});
  const auto cheaper = [](const Head& a, const Head& b) { return a.bid() > b.bid(); };
  std::make_heap(heads.begin(), heads.end(), cheaper);

  std::vector<RankedConfig> ranked;
  while (ranked.size() < most && !heads.empty()) {
    std::pop_heap(heads.begin(), heads.end(), cheaper);
    Head& head = heads.back();
    RankedConfig next = head.variants[head.next++];
    if (head.next == head.variants.size())
      heads.pop_back();
    else
      std::push_heap(heads.begin(), heads.end(), cheaper);
    const std::optional<int> waves = estimated_waves(task, next.config, limits);
    if (waves == 0) continue;
    if (waves)
      next.predicted_us = predict::predicted_us(machine, *task.op, task.problem, next.config, {waves, std::nullopt});
    if (std::isfinite(next.predicted_us)) ranked.push_back(std::move(next));
  }
  return ranked;
}

}  // namespace wavetune::search
