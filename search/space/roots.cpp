#include "search/space/roots.h"

#include <algorithm>
#include <map>
#include <memory>

namespace wavetune::search {
namespace {

using db::Config;
using templates::Constraint;
using templates::Parameter;
using templates::Space;
using templates::TermBinding;
using templates::TermOp;

class Collection {
 public:
  Collection(const Space& space, Roots& to) : space_(space), to_(to) {}

  void run() {
    for (std::size_t i = 0; i < space_.constraints().size(); ++i) add(i);
  }

 private:
  TermBinding binding(const std::string& name) const {
    const auto& all = space_.parameters();
    const auto at = std::find_if(all.begin(), all.end(), [&name](const Parameter& each) { return each.name == name; });
    return {static_cast<std::uint32_t>(at - all.begin()), at->values, {}};
  }

  void add(std::size_t number) {
    const Constraint& constraint = space_.constraints()[number];
    if (constraint.written && add_written(number)) return;
    std::vector<std::string> names = constraint.parameters;
    if (names.empty()) {
      for (const Parameter& parameter : space_.parameters()) names.push_back(parameter.name);
    }
    std::vector<TermBinding> bindings;
    auto config = std::make_shared<Config>();
    std::vector<std::int64_t*> places;
    for (const std::string& name : names) {
      bindings.push_back(binding(name));
      places.push_back(&(*config)[name]);
    }
    to_.roots.push_back({to_.terms.opaque(static_cast<std::int64_t>(to_.predicates.size()), bindings), number});
    to_.predicates.emplace_back([config, places, &constraint](const std::int64_t* words) {
      for (std::size_t i = 0; i < places.size(); ++i) *places[i] = words[i];
      return constraint.holds(*config);
    });
  }

  bool add_written(std::size_t number) {
    const templates::WrittenConstraint& written = *space_.constraints()[number].written;
    std::map<std::string, TermBinding> bindings;
    for (std::size_t i = 0; i < written.values.size(); ++i) {
      const std::string& name = written.expression.names()[i];
      TermBinding& each = bindings[name] = binding(name);
      each.values = written.values[i];
    }
    const auto term = to_.terms.condition(written.expression, bindings);
    if (!term) return false;
    // Each operand of an `and` can be asked as soon as it is known, if none needs another to guard it.
    if (to_.terms[*term].op == TermOp::all && to_.terms[*term].is_associative()) {
      for (const TermId operand : to_.terms[*term].operands) to_.roots.push_back({operand, number});
    } else {
      to_.roots.push_back({*term, number});
    }
    return true;
  }

  const Space& space_;
  Roots& to_;
};

}  // namespace

Roots::Roots(const Space& space) { Collection(space, *this).run(); }

}  // namespace wavetune::search
