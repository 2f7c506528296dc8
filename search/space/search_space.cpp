#include "search/space/search_space.h"

#include <algorithm>
#include <utility>

#include "db/base/error.h"
#include "search/space/diagram_builder.h"

namespace wavetune::search {
namespace {

Diagram diagram_of(const templates::Space& space) {
  for (const templates::Parameter& parameter : space.parameters()) {
    constexpr std::size_t most = 65535;
    if (parameter.values.size() > most) {
      fail(ErrorKind::bad_data, "parameter '{}' has {} values; at most {} can be searched", parameter.name,
           parameter.values.size(), most);
    }
  }
  if (!space.parameters().empty()) return build_diagram(space);
  // Nothing to choose: one point, if the constraints have it.
  Diagram::Level only{{0, 1}, {{}}, {1}};
  return Diagram({space.valid({}) ? only : Diagram::Level{}});
}

}  // namespace

SearchSpace::SearchSpace(templates::Space space) : space_(std::move(space)), diagram_(diagram_of(space_)) {}

Point SearchSpace::at(PointId id) const {
  Point point(diagram_.depth());
  diagram_.at(id, point);
  point.resize(parameters().size());
  return point;
}

Config SearchSpace::config(PointId id) const {
  const Point point = at(id);
  Config config;
  for (std::size_t i = 0; i < point.size(); ++i) config.emplace(parameters()[i].name, parameters()[i].values[point[i]]);
  return config;
}

std::optional<PointId> SearchSpace::find(std::span<const std::uint16_t> point) const {
  if (parameters().empty()) return point.empty() && size() > 0 ? std::optional<PointId>(0) : std::nullopt;
  return diagram_.find(point);
}

std::optional<PointId> SearchSpace::find(const Config& config) const {
  if (config.size() != parameters().size()) return std::nullopt;
  Point point(parameters().size());
  for (std::size_t i = 0; i < point.size(); ++i) {
    const auto& parameter = parameters()[i];
    const auto given = config.find(parameter.name);
    if (given == config.end()) return std::nullopt;
    const auto at = std::find(parameter.values.begin(), parameter.values.end(), given->second);
    if (at == parameter.values.end()) return std::nullopt;
    point[i] = static_cast<std::uint16_t>(at - parameter.values.begin());
  }
  return find(point);
}

PointId SearchSpace::draw(std::mt19937_64& random) const {
  // The last numbers, which do not make a full round of size(), are drawn again.
  const std::uint64_t rest = (0 - size()) % size();
  while (true) {
    const std::uint64_t number = random();
    if (number >= rest) return number % size();
  }
}

std::vector<PointId> SearchSpace::steps(PointId id) const {
  if (parameters().empty()) return {};
  return diagram_.neighbours(at(id), true);
}

std::vector<PointId> SearchSpace::changes(PointId id) const {
  if (parameters().empty()) return {};
  return diagram_.neighbours(at(id), false);
}

}  // namespace wavetune::search
