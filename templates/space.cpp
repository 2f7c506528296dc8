#include "templates/space.h"

#include <algorithm>

#include "db/base/error.h"

namespace wavetune::templates {

Space& Space::add(std::string name, std::vector<std::int64_t> values, std::vector<std::string> labels) {
  if (values.empty()) fail(ErrorKind::internal, "parameter '{}' has no values", name);
  parameters_.push_back({std::move(name), std::move(values), std::move(labels)});
  return *this;
}

Space& Space::require(std::string description, std::function<bool(const Config&)> holds) {
  constraints_.push_back({std::move(description), std::move(holds), {}, {}});
  return *this;
}

Space& Space::require(std::string description, std::vector<std::string> parameters,
                      std::function<bool(const Config&)> holds) {
  for (const std::string& name : parameters) {
    const auto known = std::any_of(parameters_.begin(), parameters_.end(),
                                   [&name](const Parameter& parameter) { return parameter.name == name; });
    if (!known) fail(ErrorKind::internal, "constraint '{}' names the unknown parameter '{}'", description, name);
  }
  constraints_.push_back({std::move(description), std::move(holds), std::move(parameters), {}});
  return *this;
}

Space& Space::require(Expression expression, std::vector<std::vector<Value>> values) {
  const auto written =
      std::make_shared<const WrittenConstraint>(WrittenConstraint{std::move(expression), std::move(values)});
  const std::vector<std::string>& names = written->expression.names();
  std::vector<std::vector<std::int64_t>> space_values;
  for (const std::string& name : names) {
    const auto known = std::find_if(parameters_.begin(), parameters_.end(),
                                    [&name](const Parameter& parameter) { return parameter.name == name; });
    if (known != parameters_.end()) space_values.push_back(known->values);
  }
  require(written->expression.text(), names, [written, space_values](const Config& config) {
    Scope scope;
    for (std::size_t i = 0; i < space_values.size(); ++i) {
      const std::string& name = written->expression.names()[i];
      const auto at = std::find(space_values[i].begin(), space_values[i].end(), config.at(name));
      scope.emplace(name, written->values[i].at(static_cast<std::size_t>(at - space_values[i].begin())));
    }
    return written->expression.holds(scope);
  });
  constraints_.back().written = written;
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
  visit([&valid_configs](const Config& config) {
    valid_configs.push_back(config);
    return true;
  });
  return valid_configs;
}

void Space::visit(const std::function<bool(const Config&)>& see) const {
  // Values are chosen from the last parameter, the highest digit of a position, to the first. A constraint is due at
  // the lowest digit that it looks at.
  std::vector<std::vector<const Constraint*>> due(parameters_.size() + 1);
  for (const Constraint& constraint : constraints_) {
    std::size_t lowest = constraint.parameters.empty() ? 0 : parameters_.size();
    for (const std::string& name : constraint.parameters) {
      const auto at = std::find_if(parameters_.begin(), parameters_.end(),
                                   [&name](const Parameter& parameter) { return parameter.name == name; });
      lowest = std::min(lowest, static_cast<std::size_t>(at - parameters_.begin()));
    }
    due[lowest].push_back(&constraint);
  }
  Config config;
  const auto choose = [&](const auto& self, std::size_t digits) -> bool {
    if (digits == 0) return see(config);
    const Parameter& parameter = parameters_[digits - 1];
    const auto place = config.emplace(parameter.name, 0).first;
    for (const std::int64_t value : parameter.values) {
      place->second = value;
      const bool holds = std::all_of(due[digits - 1].begin(), due[digits - 1].end(),
                                     [&config](const Constraint* constraint) { return constraint->holds(config); });
      if (holds && !self(self, digits - 1)) return false;
    }
    config.erase(place);
    return true;
  };
  choose(choose, parameters_.size());
}

}  // namespace wavetune::templates
