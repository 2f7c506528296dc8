#include "runtime/engine/launch_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace wavetune::engine {
namespace {

/// "3" of "layers.3.self_attn.o_proj"; empty for what belongs to no layer.
std::string layer_of(const std::string& label) {
  constexpr std::string_view prefix = "layers.";
  if (!label.starts_with(prefix)) return {};
  return label.substr(prefix.size(), label.find('.', prefix.size()) - prefix.size());
}

}  // namespace

std::string LaunchCounts::summary() const {
  const std::string range = least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most);
  return fmt::format("{} launches a layer ({} layers), {} outside, {} in all", range, layers, outside, total);
}

LaunchCounts count_launches(std::span<const int> calls, const model::Program& program) {
  LaunchCounts counts;
  std::map<std::string, std::int64_t> by_layer;
  for (const int call : calls) {
    const std::string layer = call < 0 ? std::string() : layer_of(program.calls[static_cast<std::size_t>(call)].label);
    ++(layer.empty() ? counts.outside : by_layer[layer]);
  }
  counts.layers = static_cast<std::int64_t>(by_layer.size());
  counts.total = counts.outside;
  for (const auto& [layer, count] : by_layer) {
    counts.least = counts.least == 0 ? count : std::min(counts.least, count);
    counts.most = std::max(counts.most, count);
    counts.total += count;
  }
  return counts;
}

}  // namespace wavetune::engine
