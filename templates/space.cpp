#include "templates/space.h"

#include <algorithm>

#include "db/base/error.h"

namespace wavetune::templates {

Space& Space::add(std::string name, std::vector<std::int64_t> values) {
  if (values.empty()) fail(ErrorKind::internal, "parameter '{}' has no values", name);
  parameters_.push_back({std::move(name), std::move(values)});
  return *this;
}

Space& Space::require(std::string description, std::function<bool(const Config&)> holds) {
  constraints_.push_back({std::move(description), std::move(holds)});
  return *this;
}

std::uint64_t Space::product_size() const {
  std::uint64_t size = 1;
  for (const Parameter& p : parameters_) size *= p.values.size();
  return size;
}

Config Space::at(std::uint64_t position) const {
  Config config;
  for (const Parameter& p : parameters_) {
    config.emplace(p.name, p.values[position % p.values.size()]);
    position /= p.values.size();
  }
  return config;
}

std::optional<std::string> Space::violation(const Config& config) const {
  for (const Parameter& p : parameters_) {
    const auto found = config.find(p.name);
    if (found == config.end()) return fmt::format("parameter '{}' is missing", p.name);
    if (std::find(p.values.begin(), p.values.end(), found->second) == p.values.end()) {
      return fmt::format("{}={} is not one of the parameter's values", p.name, found->second);
    }
  }
  if (config.size() != parameters_.size()) return "it has a parameter that the space does not know";
  for (const Constraint& c : constraints_) {
    if (!c.holds(config)) return c.description;
  }
  return std::nullopt;
}

std::vector<Config> Space::enumerate() const {
  std::vector<Config> valid_configs;
  for (std::uint64_t position = 0; position < product_size(); ++position) {
    Config config = at(position);
    if (valid(config)) valid_configs.push_back(std::move(config));
  }
  return valid_configs;
}

std::vector<Config> Space::neighbours(const Config& config) const {
  std::vector<Config> result;
  for (const Parameter& p : parameters_) {
    const auto here = std::find(p.values.begin(), p.values.end(), config.at(p.name));
    if (here == p.values.end()) continue;
    const auto try_value = [&](std::int64_t value) {
      Config next = config;
      next[p.name] = value;
      if (valid(next)) result.push_back(std::move(next));
    };
    if (here != p.values.begin()) try_value(*(here - 1));
    if (here + 1 != p.values.end()) try_value(*(here + 1));
  }
  return result;
}

}  // namespace wavetune::templates
