// A parameter space: named parameters with value lists, and the constraints that valid configurations meet.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/problem.h"
#include "templates/expression/expression.h"

namespace wavetune::templates {

using db::Config;

struct Parameter {
  std::string name;
  std::vector<std::int64_t> values;      ///< ascending; neighbours in the list are neighbours in the search
  std::vector<std::string> labels = {};  ///< what values[i] stands for, when it is not an integer; else empty
};

/// A constraint that is written down, for those who can do more with it than ask whether it holds.
struct WrittenConstraint {
  Expression expression;
  /// For each of the expression's names: what it is for each value of that parameter.
  std::vector<std::vector<Value>> values;
};

struct Constraint {
  std::string description;  ///< in the reader's words, e.g. "A and B tiles fit in LDS"
  std::function<bool(const Config&)> holds;
  std::vector<std::string> parameters;                    ///< all that `holds` looks at; empty: not said
  std::shared_ptr<const WrittenConstraint> written = {};  ///< null: there is only `holds`
};

/// Positions are mixed-radix numbers over the parameters' value indices, the first parameter being the lowest digit.
class Space {
 public:
  /// `labels`: one a value, when the values stand for something else than integers.
  Space& add(std::string name, std::vector<std::int64_t> values, std::vector<std::string> labels = {});
  Space& require(std::string description, std::function<bool(const Config&)> holds);
  /// With the parameters that `holds` looks at: it is then called as soon as they have values, on a Config that may
  /// lack the others, and enumerate() leaves out everything below a violation. Throws Error internal for a name that
  /// was not added.
  Space& require(std::string description, std::vector<std::string> parameters,
                 std::function<bool(const Config&)> holds);

  /// An expression over parameters that were added. `values` as in WrittenConstraint; `holds` throws what it throws.
  Space& require(Expression expression, std::vector<std::vector<Value>> values);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<Constraint>& constraints() const { return constraints_; }

  /// Points of the Cartesian product, valid or not.
  std::uint64_t product_size() const;
  /// The configuration at a position of the product, 0 <= position < product_size().
  Config at(std::uint64_t position) const;

  /// The first constraint that `config` breaks, or nothing when it is valid. A config with a missing or unknown
  /// parameter or a value outside the list is reported in the same way.
  std::optional<std::string> violation(const Config& config) const;
  bool valid(const Config& config) const { return !violation(config).has_value(); }

  /// All valid configurations, in position order. Work grows with the points that constraints which name their
  /// parameters leave: some 10^6 take a second.
  std::vector<Config> enumerate() const;
  /// The same one at a time, without keeping them; `see` returns false to stop.
  void visit(const std::function<bool(const Config&)>& see) const;

 private:
  std::vector<Parameter> parameters_;
  std::vector<Constraint> constraints_;
};

}  // namespace wavetune::templates
