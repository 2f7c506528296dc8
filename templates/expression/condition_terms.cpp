// From an expression to typed terms.
#include <algorithm>
#include <bit>
#include <cmath>

#include "templates/expression/functions.h"
#include "templates/expression/terms.h"

namespace wavetune::templates {
namespace {

/// Thrown where an expression goes beyond what terms can say.
struct Unsupported {};

enum class Kind { integer, real, truth, text };

struct Typed {
  TermId id;
  Kind kind;
};

class Compilation {
 public:
  Compilation(Terms& terms, const Syntax& syntax, const std::map<std::string, TermBinding>& names)
      : terms_(terms), syntax_(syntax), names_(names) {}

  TermId run() { return truth_of(syntax_.root); }

 private:
  const Node& node(std::uint32_t id) const { return syntax_.nodes[id]; }

  Typed of(std::uint32_t id) {
    const Node& each = node(id);
    switch (each.op) {
      case Op::literal:
        return literal(each.value);
      case Op::name:
        return named(syntax_.names[each.index]);
      case Op::negative:
        return like(TermOp::negate, number(of(each.operands[0])));
      case Op::positive:
        return number(of(each.operands[0]));
      case Op::logical_not:
        return {terms_.make(TermOp::logical_not, {truth_of(each.operands[0])}), Kind::truth};
      case Op::logical_and:
      case Op::logical_or:
        return junction(each);
      case Op::member:
        return member(each);
      case Op::not_member:
        return {terms_.make(TermOp::logical_not, {member(each).id}), Kind::truth};
      case Op::equal:
      case Op::not_equal:
      case Op::less:
      case Op::less_equal:
      case Op::greater:
      case Op::greater_equal: {
        const Typed left = of(each.operands[0]);
        return comparison(each.op, left, of(each.operands[1]));
      }
      case Op::add:
      case Op::subtract:
      case Op::multiply:
      case Op::divide:
      case Op::floor_divide:
      case Op::remainder:
      case Op::power: {
        const Typed left = number(of(each.operands[0]));
        return arithmetic(each.op, left, number(of(each.operands[1])));
      }
      case Op::call:
        return called(each);
      default:
        throw Unsupported{};
    }
  }

  Typed literal(const Value& value) {
    if (value.is_bool()) return {truth({terms_.constant(value.as_int()), Kind::integer}), Kind::truth};
    if (value.is_int()) return {terms_.constant(value.as_int()), Kind::integer};
    if (value.is_float()) return {terms_.real_constant(value.as_float()), Kind::real};
    if (value.is_string()) return {terms_.constant(terms_.text(value.as_string())), Kind::text};
    throw Unsupported{};
  }

  Typed named(const std::string& name) {
    const TermBinding& binding = names_.at(name);
    const auto all = [&binding](auto is) { return std::all_of(binding.values.begin(), binding.values.end(), is); };
    const bool plain = [&] {
      for (std::size_t i = 0; i < binding.values.size(); ++i) {
        if (!binding.values[i].is_int() || binding.values[i].as_int() != binding.space_values[i]) return false;
      }
      return true;
    }();
    if (plain) return {terms_.parameter(binding), Kind::integer};
    // Otherwise the space's values count from 0.
    std::vector<std::int64_t> table;
    if (all([](const Value& value) { return value.is_integral(); })) {
      for (const Value& value : binding.values) table.push_back(value.as_int());
      return {terms_.lookup(binding, std::move(table), false), Kind::integer};
    }
    if (all([](const Value& value) { return value.is_float(); })) {
      for (const Value& value : binding.values) table.push_back(std::bit_cast<std::int64_t>(value.as_float()));
      return {terms_.lookup(binding, std::move(table), true), Kind::real};
    }
    if (!all([](const Value& value) { return value.is_string(); })) throw Unsupported{};
    for (const Value& value : binding.values) table.push_back(terms_.text(value.as_string()));
    return {terms_.lookup(binding, std::move(table), false), Kind::text};
  }

  /// An integer or a real; a truth counts as 0 or 1.
  static Typed number(const Typed& value) {
    if (value.kind == Kind::text) throw Unsupported{};
    return {value.id, value.kind == Kind::real ? Kind::real : Kind::integer};
  }

  TermId truth(const Typed& value) {
    if (value.kind == Kind::text) throw Unsupported{};
    if (terms_[value.id].truth) return value.id;
    const TermId zero = value.kind == Kind::real ? terms_.real_constant(0) : terms_.constant(0);
    return terms_.make(TermOp::logical_not, {terms_.make(TermOp::equal, {value.id, zero})});
  }

  TermId real(const Typed& value) {
    if (value.kind == Kind::real) return value.id;
    const Term& term = terms_[value.id];
    if (std::max(std::abs(term.low), std::abs(term.high)) > 0x1p53) throw Unsupported{};
    return terms_.make(TermOp::to_real, {value.id});
  }

  Typed like(TermOp op, const Typed& operand) { return {terms_.make(op, {operand.id}), operand.kind}; }

  Typed both(TermOp op, const Typed& left, const Typed& right) {
    if (left.kind != Kind::real && right.kind != Kind::real) {
      return {terms_.make(op, {left.id, right.id}), Kind::integer};
    }
    return {terms_.make(op, {real(left), real(right)}), Kind::real};
  }

  /// The truth of a node, whatever its value: of `a and b`, which is one of its operands, it is the and of their
  /// truths.
  TermId truth_of(std::uint32_t id) {
    const Node& each = node(id);
    if (each.op != Op::logical_and && each.op != Op::logical_or) return truth(of(id));
    std::vector<TermId> operands;
    for (const std::uint32_t operand : each.operands) operands.push_back(truth_of(operand));
    return terms_.make(each.op == Op::logical_and ? TermOp::all : TermOp::any, std::move(operands));
  }

  /// The value of `a and b` is a truth only if its operands are.
  Typed junction(const Node& each) {
    std::vector<TermId> operands;
    for (const std::uint32_t operand : each.operands) {
      const Typed value = of(operand);
      if (value.kind != Kind::truth) throw Unsupported{};
      operands.push_back(value.id);
    }
    return {terms_.make(each.op == Op::logical_and ? TermOp::all : TermOp::any, std::move(operands)), Kind::truth};
  }

  Typed member(const Node& each) {
    const Node& list = node(each.operands[1]);
    if (list.op != Op::list || list.operands.empty()) throw Unsupported{};
    const Typed element = of(each.operands[0]);
    std::vector<TermId> operands;
    for (const std::uint32_t operand : list.operands)
      operands.push_back(comparison(Op::equal, element, of(operand)).id);
    return {terms_.make(TermOp::any, std::move(operands)), Kind::truth};
  }

  Typed comparison(Op op, const Typed& left, const Typed& right) {
    if ((left.kind == Kind::text) != (right.kind == Kind::text)) throw Unsupported{};
    const bool is_equality = op == Op::equal || op == Op::not_equal;
    if (left.kind == Kind::text && !is_equality) throw Unsupported{};
    const bool reals = left.kind == Kind::real || right.kind == Kind::real;
    TermId a = reals ? real(left) : left.id;
    TermId b = reals ? real(right) : right.id;
    if (is_equality) {
      const TermId equal = terms_.make(TermOp::equal, {a, b});
      return {op == Op::equal ? equal : terms_.make(TermOp::logical_not, {equal}), Kind::truth};
    }
    if (op == Op::greater || op == Op::greater_equal) std::swap(a, b);
    const bool strict = op == Op::less || op == Op::greater;
    return {terms_.make(strict ? TermOp::less : TermOp::less_equal, {a, b}), Kind::truth};
  }

  Typed arithmetic(Op op, const Typed& left, const Typed& right) {
    const bool reals = left.kind == Kind::real || right.kind == Kind::real;
    switch (op) {
      case Op::add:
        return both(TermOp::sum, left, right);
      case Op::subtract:
        return both(TermOp::sum, left, like(TermOp::negate, right));
      case Op::multiply:
        return both(TermOp::product, left, right);
      case Op::divide:
        return {terms_.make(TermOp::divide, {real(left), real(right)}), Kind::real};
      case Op::power:
        if (reals || terms_[right.id].low < 0) throw Unsupported{};
        return both(TermOp::power, left, right);
      default:
        if (reals) throw Unsupported{};
        return both(op == Op::floor_divide ? TermOp::floor_divide : TermOp::remainder, left, right);
    }
  }

  Typed called(const Node& each) {
    std::vector<Typed> arguments;
    for (const std::uint32_t operand : each.operands) arguments.push_back(number(of(operand)));
    const auto function = static_cast<Function>(each.index);
    if (function == Function::minimum || function == Function::maximum) {
      if (arguments.size() < 2) throw Unsupported{};
      std::vector<TermId> operands;
      for (const Typed& argument : arguments) {
        if (argument.kind == Kind::real) throw Unsupported{};
        operands.push_back(argument.id);
      }
      return {terms_.make(function == Function::minimum ? TermOp::minimum : TermOp::maximum, std::move(operands)),
              Kind::integer};
    }
    if (arguments.size() != 1) throw Unsupported{};
    const bool is_real = arguments[0].kind == Kind::real;
    switch (function) {
      case Function::abs:
        if (is_real) throw Unsupported{};
        return like(TermOp::absolute, arguments[0]);
      case Function::floor:
      case Function::ceil:
        if (!is_real) return arguments[0];
        return {terms_.make(function == Function::floor ? TermOp::floor : TermOp::ceil, {arguments[0].id}),
                Kind::integer};
      case Function::floating:
        return {real(arguments[0]), Kind::real};
      case Function::integer:
        if (!is_real) return arguments[0];
        throw Unsupported{};
      default:
        throw Unsupported{};
    }
  }

  Terms& terms_;
  const Syntax& syntax_;
  const std::map<std::string, TermBinding>& names_;
};

}  // namespace

std::optional<TermId> Terms::condition(const Expression& expression, const std::map<std::string, TermBinding>& names) {
  try {
    return Compilation(*this, *expression.syntax(), names).run();
  } catch (const Unsupported&) {
    return std::nullopt;
  } catch (const TooLarge&) {
    return std::nullopt;
  }
}

}  // namespace wavetune::templates
