#include "search/strategy/candidates.h"

#include <utility>

namespace wavetune::search {

using templates::Config;

// The standard's distributions differ between libraries; a seed must mean the same everywhere.
double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1.0p-53; }

std::uint64_t below(std::mt19937_64& random, std::uint64_t bound) {
  return static_cast<std::uint64_t>(uniform(random) * static_cast<double>(bound));
}

Candidates::Candidates(const templates::Space& space, std::uint64_t seed)
    : space_(space), random_(seed), enumerated_(space.product_size() <= enumeration_limit) {
  if (!enumerated_) return;
  shuffled_ = space_.enumerate();
  for (std::size_t i = shuffled_.size(); i > 1; --i) std::swap(shuffled_[i - 1], shuffled_[below(random_, i)]);
}

std::optional<std::size_t> Candidates::size() const {
  if (!enumerated_) return std::nullopt;
  return shuffled_.size();
}

bool Candidates::take(const Config& config) {
  if (!space_.valid(config)) return false;
  return taken_.insert(db::to_text(config)).second;
}

std::optional<Config> Candidates::draw() {
  if (enumerated_) {
    while (next_ < shuffled_.size()) {
      const Config& config = shuffled_[next_++];
      if (taken_.insert(db::to_text(config)).second) return config;
    }
    return std::nullopt;
  }
  // In spaces too large to list, at least one point in 10^5 is taken to be valid.
  for (int attempt = 0; attempt < 100'000; ++attempt) {
    Config config = space_.at(below(random_, space_.product_size()));
    if (take(config)) return config;
  }
  return std::nullopt;
}

std::optional<Config> Candidates::draw_from(std::vector<Config> configs) {
  while (!configs.empty()) {
    const std::size_t pick = below(random_, configs.size());
    if (take(configs[pick])) return std::move(configs[pick]);
    configs.erase(configs.begin() + static_cast<std::ptrdiff_t>(pick));
  }
  return std::nullopt;
}

}  // namespace wavetune::search
