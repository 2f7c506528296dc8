#include "templates/expression/expression.h"

#include <cmath>

#include "db/base/error.h"
#include "templates/expression/functions.h"
#include "templates/expression/syntax.h"

namespace wavetune::templates {
namespace {

class Evaluation {
 public:
  Evaluation(const Syntax& syntax, const Scope& scope) : syntax_(syntax), scope_(scope) {}

  Value run() { return of(syntax_.root); }

 private:
  Value of(std::uint32_t id) {
    const Node& node = syntax_.nodes[id];
    switch (node.op) {
      case Op::literal:
        return node.value;
      case Op::name:
        return named(syntax_.names[node.index]);
      case Op::bound:
        return bound_[node.index];
      case Op::negative:
      case Op::positive:
      case Op::invert:
      case Op::logical_not:
        return unary(node.op, of(node.operands[0]));
      case Op::equal:
      case Op::not_equal:
      case Op::less:
      case Op::less_equal:
      case Op::greater:
      case Op::greater_equal:
      case Op::member:
      case Op::not_member: {
        const Value left = of(node.operands[0]);
        return compare(node.op, left, of(node.operands[1]));
      }
      case Op::logical_and:
      case Op::logical_or:
        return short_circuit(node);
      case Op::conditional:
        return of(node.operands[of(node.operands[0]).truthy() ? 1 : 2]);
      case Op::list:
        return all(node);
      case Op::comprehension:
        return comprehension(node);
      case Op::subscript:
        return subscript(of(node.operands[0]), of(node.operands[1]));
      case Op::call:
        return call(static_cast<Function>(node.index), all(node));
      default: {
        const Value left = of(node.operands[0]);
        return arithmetic(node.op, left, of(node.operands[1]));
      }
    }
  }

  Value named(const std::string& name) const {
    const auto found = scope_.find(name);
    if (found != scope_.end()) return found->second;
    std::string known;
    for (const auto& [each, value] : scope_) known += fmt::format("{}{}", known.empty() ? "" : ", ", each);
    throw EvaluationFault{fmt::format("unknown name '{}' (known: {})", name, known.empty() ? "none" : known)};
  }

  Value short_circuit(const Node& node) {
    Value value;
    for (const std::uint32_t operand : node.operands) {
      value = of(operand);
      if (value.truthy() == (node.op == Op::logical_or)) break;
    }
    return value;
  }

  Value::List all(const Node& node) {
    Value::List values;
    values.reserve(node.operands.size());
    for (const std::uint32_t operand : node.operands) values.push_back(of(operand));
    return values;
  }

  Value comprehension(const Node& node) {
    const Value iterable = of(node.operands[1]);
    if (!iterable.is_list()) throw EvaluationFault{fmt::format("{} is not a list", iterable.repr())};
    Value::List values;
    bound_.resize(node.index + 1);
    for (const Value& element : iterable.as_list()) {
      bound_[node.index] = element;
      bool wanted = true;
      for (std::size_t i = 2; wanted && i < node.operands.size(); ++i) wanted = of(node.operands[i]).truthy();
      if (wanted) values.push_back(of(node.operands[0]));
    }
    bound_.resize(node.index);
    return values;
  }

  static Value subscript(const Value& sequence, const Value& index) {
    if (!sequence.is_list() && !sequence.is_string()) {
      throw EvaluationFault{fmt::format("{} ({}) has no elements", sequence.repr(), sequence.type_name())};
    }
    if (!index.is_integral()) throw EvaluationFault{fmt::format("{} is not an index", index.repr())};
    const auto size =
        static_cast<std::int64_t>(sequence.is_list() ? sequence.as_list().size() : sequence.as_string().size());
    const std::int64_t at = index.as_int() < 0 ? index.as_int() + size : index.as_int();
    if (at < 0 || at >= size) {
      throw EvaluationFault{fmt::format("index {} is outside {}", index.as_int(), sequence.repr())};
    }
    const auto place = static_cast<std::size_t>(at);
    return sequence.is_list() ? sequence.as_list()[place] : Value(std::string(1, sequence.as_string()[place]));
  }

  const Syntax& syntax_;
  const Scope& scope_;
  Value::List bound_;
};

std::string excerpt(std::string_view text) {
  constexpr std::size_t enough = 160;
  return text.size() <= enough ? std::string(text) : fmt::format("{}...", text.substr(0, enough));
}

[[noreturn]] void evaluation_error(const Syntax& syntax, const Scope& scope, std::string_view fault) {
  std::string values;
  for (const std::string& name : syntax.names) {
    const auto found = scope.find(name);
    if (found == scope.end()) continue;
    values += fmt::format("{}{}={}", values.empty() ? " with " : ", ", name, excerpt(found->second.repr()));
  }
  fail(ErrorKind::bad_data, "{}: {}: in '{}'{}", syntax.where, fault, excerpt(syntax.text), values);
}

}  // namespace

Expression Expression::parse(std::string_view text, std::string_view where) {
  return Expression(std::make_shared<const Syntax>(parse_syntax(text, where)));
}

const std::string& Expression::text() const { return syntax_->text; }
const std::string& Expression::where() const { return syntax_->where; }
const std::vector<std::string>& Expression::names() const { return syntax_->names; }

Value Expression::evaluate(const Scope& scope) const {
  try {
    return Evaluation(*syntax_, scope).run();
  } catch (const EvaluationFault& fault) {
    evaluation_error(*syntax_, scope, fault.message);
  }
}

std::int64_t Expression::integer(const Scope& scope) const {
  const Value value = evaluate(scope);
  if (value.is_integral()) return value.as_int();
  if (value.is_float() && value.as_float() == std::trunc(value.as_float()) && std::abs(value.as_float()) < 9e18) {
    return static_cast<std::int64_t>(value.as_float());
  }
  evaluation_error(*syntax_, scope, fmt::format("an integer is needed, not {} ({})", value.repr(), value.type_name()));
}

double Expression::number(const Scope& scope) const {
  const Value value = evaluate(scope);
  if (value.is_number()) return value.as_float();
  evaluation_error(*syntax_, scope, fmt::format("a number is needed, not {} ({})", value.repr(), value.type_name()));
}

}  // namespace wavetune::templates
