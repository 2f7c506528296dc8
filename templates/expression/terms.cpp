#include "templates/expression/terms.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace wavetune::templates {
namespace {

constexpr double largest_integer = 0x1p61;

bool is_comparison_or_junction(TermOp op) {
  return op == TermOp::equal || op == TermOp::less || op == TermOp::less_equal || op == TermOp::logical_not ||
         op == TermOp::all || op == TermOp::any || op == TermOp::opaque;
}

bool folds(TermOp op) {
  return op == TermOp::sum || op == TermOp::product || op == TermOp::minimum || op == TermOp::maximum;
}

/// Of two constants below largest_integer.
std::int64_t folded(TermOp op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (op) {
    case TermOp::sum:
      return a + b;
    case TermOp::product:
      if (__builtin_mul_overflow(a, b, &result)) throw Terms::TooLarge{};
      return result;
    case TermOp::minimum:
      return std::min(a, b);
    default:
      return std::max(a, b);
  }
}

struct Range {
  double low;
  double high;
};

Range hull(std::initializer_list<double> ends) { return {std::min(ends), std::max(ends)}; }

Range product(Range a, Range b) { return hull({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high}); }

/// The range of a term from its operands'; those of `op` with a real operand give an integer of any size.
Range range_of(TermOp op, const std::vector<Range>& of) {
  const Range& a = of[0];
  switch (op) {
    case TermOp::sum:
    case TermOp::product:
    case TermOp::minimum:
    case TermOp::maximum: {
      Range all = a;
      for (std::size_t i = 1; i < of.size(); ++i) {
        const Range& b = of[i];
        all = op == TermOp::sum       ? Range{all.low + b.low, all.high + b.high}
              : op == TermOp::product ? product(all, b)
              : op == TermOp::minimum ? Range{std::min(all.low, b.low), std::min(all.high, b.high)}
                                      : Range{std::max(all.low, b.low), std::max(all.high, b.high)};
      }
      return all;
    }
    case TermOp::negate:
      return {-a.high, -a.low};
    case TermOp::absolute:
      return {a.low <= 0 && a.high >= 0 ? 0 : std::min(std::abs(a.low), std::abs(a.high)),
              std::max(std::abs(a.low), std::abs(a.high))};
    case TermOp::floor_divide: {
      const double most = std::max(std::abs(a.low), std::abs(a.high));
      if (a.low >= 0 && of[1].low >= 0) return {0, most};
      return {-most - 1, most + 1};
    }
    case TermOp::remainder: {
      const double most = std::max(std::abs(of[1].low), std::abs(of[1].high));
      return of[1].low >= 0 ? Range{0, most} : Range{-most, most};
    }
    case TermOp::power:
      return hull({std::pow(a.high, of[1].high), std::pow(a.high, of[1].low), std::pow(a.low, of[1].high),
                   std::pow(a.low, of[1].low), 0, std::pow(std::abs(a.low), of[1].high),
                   -std::pow(std::abs(std::min(a.low, 0.0)), of[1].high)});
    default:
      return {0, 1};
  }
}

}  // namespace

bool Term::is_associative() const {
  if (is_junction()) return !faults;
  return folds(op) && !real;
}

TermId Terms::add(Term term) {
  std::vector<std::int64_t> key{static_cast<std::int64_t>(term.op), term.real ? 1 : 0, term.constant, term.index};
  key.insert(key.end(), term.operands.begin(), term.operands.end());
  const auto [place, is_new] = known_.try_emplace(std::move(key), static_cast<TermId>(terms_.size()));
  if (!is_new) return place->second;
  for (const TermId operand : term.operands) {
    term.faults = term.faults || terms_[operand].faults;
    term.lowest = std::min(term.lowest, terms_[operand].lowest);
    term.highest = std::max(term.highest, terms_[operand].highest);
  }
  terms_.push_back(std::move(term));
  return place->second;
}

TermId Terms::constant(std::int64_t value) {
  Term term;
  term.constant = value;
  term.low = term.high = static_cast<double>(value);
  if (std::abs(term.low) > largest_integer) throw TooLarge{};
  return add(std::move(term));
}

TermId Terms::real_constant(double value) {
  Term term;
  term.real = true;
  term.constant = std::bit_cast<std::int64_t>(value);
  return add(std::move(term));
}

std::int64_t Terms::text(const std::string& value) {
  return texts_.try_emplace(value, static_cast<std::int64_t>(texts_.size())).first->second;
}

TermId Terms::parameter(const TermBinding& binding) {
  Term term;
  term.op = TermOp::parameter;
  term.index = binding.parameter;
  term.lowest = term.highest = static_cast<std::int32_t>(binding.parameter);
  const auto [low, high] = std::minmax_element(binding.space_values.begin(), binding.space_values.end());
  term.low = static_cast<double>(*low);
  term.high = static_cast<double>(*high);
  return add(std::move(term));
}

TermId Terms::lookup(const TermBinding& binding, std::vector<std::int64_t> table, bool real) {
  Term term;
  term.op = TermOp::lookup;
  term.real = real;
  const auto [low, high] = std::minmax_element(table.begin(), table.end());
  term.low = static_cast<double>(*low);
  term.high = static_cast<double>(*high);
  const auto known = std::find(tables_.begin(), tables_.end(), table);
  term.index = static_cast<std::uint32_t>(known - tables_.begin());
  if (known == tables_.end()) tables_.push_back(std::move(table));
  term.operands = {parameter(binding)};
  return add(std::move(term));
}

TermId Terms::opaque(std::int64_t number, const std::vector<TermBinding>& parameters) {
  Term term;
  term.op = TermOp::opaque;
  term.truth = true;
  term.high = 1;
  term.constant = number;
  for (const TermBinding& binding : parameters) term.operands.push_back(parameter(binding));
  return add(std::move(term));
}

std::vector<TermId> Terms::flat(TermOp op, const std::vector<TermId>& operands) {
  std::vector<TermId> all;
  std::optional<std::int64_t> constant_part;
  const auto take = [&](TermId id) {
    if (terms_[id].op == TermOp::constant && folds(op)) {
      constant_part = constant_part ? folded(op, *constant_part, terms_[id].constant) : terms_[id].constant;
      if (std::abs(static_cast<double>(*constant_part)) > largest_integer) throw TooLarge{};
    } else {
      all.push_back(id);
    }
  };
  for (const TermId id : operands) {
    if (terms_[id].op != op) {
      take(id);
      continue;
    }
    const std::vector<TermId> inner = terms_[id].operands;
    for (const TermId each : inner) take(each);
  }
  if (constant_part) all.push_back(constant(*constant_part));
  return all;
}

TermId Terms::make(TermOp op, std::vector<TermId> operands) {
  Term term;
  term.op = op;
  const bool any_real = std::any_of(operands.begin(), operands.end(), [this](TermId id) { return terms_[id].real; });
  term.truth = is_comparison_or_junction(op);
  term.real = op == TermOp::divide || op == TermOp::to_real ||
              (any_real && !term.truth && op != TermOp::floor && op != TermOp::ceil);
  const bool flattens = (folds(op) && !term.real) || op == TermOp::all || op == TermOp::any;
  if (flattens) operands = flat(op, operands);
  if (flattens && operands.size() == 1) return operands[0];
  std::vector<Range> ranges;
  for (const TermId id : operands) ranges.push_back({terms_[id].low, terms_[id].high});
  if (op == TermOp::floor_divide || op == TermOp::remainder || op == TermOp::divide) {
    const Range& divisor = ranges.back();
    term.faults = divisor.low <= 0 && divisor.high >= 0;  // reals have a range only where it is an integer's
  }
  if (op == TermOp::to_real) {
    term.low = ranges[0].low;
    term.high = ranges[0].high;
  } else if (!term.truth && (op == TermOp::floor || op == TermOp::ceil)) {
    term.low = -0x1p60;  // the evaluation faults beyond
    term.high = 0x1p60;
    term.faults = true;
  } else if (!term.real) {
    const Range range = range_of(op, ranges);
    term.low = range.low;
    term.high = range.high;
    // Any part of a sum or product has to fit, too: parts are made in any order.
    double most = op == TermOp::sum ? 0 : 1;
    for (const Range& each : ranges) {
      const double magnitude = std::max({1.0, std::abs(each.low), std::abs(each.high)});
      if (op == TermOp::sum) most += magnitude;
      if (op == TermOp::product) most *= magnitude;
    }
    if (!(std::max({most, std::abs(term.low), std::abs(term.high)}) < largest_integer)) throw TooLarge{};
  }
  if (op == TermOp::negate && terms_[operands[0]].op == TermOp::constant && !term.real) {
    return constant(-terms_[operands[0]].constant);
  }
  term.operands = std::move(operands);
  return add(std::move(term));
}

}  // namespace wavetune::templates
