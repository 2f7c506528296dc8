#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "db/base/error.h"
#include "templates/expression/functions.h"
#include "templates/expression/lexer.h"
#include "templates/expression/syntax.h"

namespace wavetune::templates {
namespace {

// Parsing and evaluation recurse; nobody writes a condition as deep as this.
constexpr std::uint32_t max_nesting = 150;  // of brackets and unary operators
constexpr std::uint32_t max_depth = 1000;   // of the tree: terms of a sum, say

struct BinaryOperator {
  std::string_view symbol;
  Op op;
  int level;  ///< 0 binds loosest
};

constexpr std::array<BinaryOperator, 11> binary_operators{{
    {"|", Op::bit_or, 0},
    {"^", Op::bit_xor, 1},
    {"&", Op::bit_and, 2},
    {"<<", Op::shift_left, 3},
    {">>", Op::shift_right, 3},
    {"+", Op::add, 4},
    {"-", Op::subtract, 4},
    {"*", Op::multiply, 5},
    {"/", Op::divide, 5},
    {"//", Op::floor_divide, 5},
    {"%", Op::remainder, 5},
}};
constexpr int unary_level = 6;

// Recursive descent, one function a level of Python's grammar.
class Parser {
 public:
  Parser(std::string_view text, std::string_view where) : tokens_(tokens_of(text, where)) {
    syntax_.text = text;
    syntax_.where = where;
  }

  Syntax run() {
    if (peek().kind == TokenKind::end) error("the expression is empty");
    syntax_.root = expression();
    if (is(",")) {  // a tuple without parentheses
      syntax_.root = rest_of_tuple(syntax_.root, TokenKind::end, "");
    }
    if (peek().kind != TokenKind::end) error(fmt::format("unexpected {}", found()));
    return std::move(syntax_);
  }

 private:
  using Id = std::uint32_t;

  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  bool is(std::string_view symbol, std::size_t ahead = 0) const {
    return peek(ahead).kind == TokenKind::symbol && peek(ahead).text == symbol;
  }
  bool take(std::string_view symbol) {
    if (!is(symbol)) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view symbol) {
    if (!take(symbol)) error(fmt::format("expected '{}', found {}", symbol, found()));
  }
  std::string found() const {
    const Token& token = peek();
    if (token.kind == TokenKind::end) return "the end";
    return token.kind == TokenKind::literal ? token.value.repr() : fmt::format("'{}'", token.text);
  }
  [[noreturn]] void error(std::string_view fault) const {
    syntax_error(syntax_.where, syntax_.text, peek().column, fault);
  }

  Id add(Op op, std::uint32_t column, std::vector<Id> operands, std::uint32_t index = 0) {
    Node node;
    node.op = op;
    node.column = column;
    node.index = index;
    for (const Id operand : operands) node.depth = std::max(node.depth, syntax_.nodes[operand].depth + 1);
    if (node.depth > max_depth) error("the expression is nested too deeply");
    node.operands = std::move(operands);
    syntax_.nodes.push_back(std::move(node));
    return static_cast<Id>(syntax_.nodes.size() - 1);
  }

  Id expression() {
    if (++nesting_ > max_nesting) error("the expression is nested too deeply");
    const Id value = disjunction();
    --nesting_;
    if (!is("if")) return value;
    const std::uint32_t column = peek().column;
    ++at_;
    const Id condition = disjunction();
    expect("else");
    return add(Op::conditional, column, {condition, value, expression()});
  }

  Id disjunction() { return n_ary("or", Op::logical_or, &Parser::conjunction); }
  Id conjunction() { return n_ary("and", Op::logical_and, &Parser::inversion); }

  Id n_ary(std::string_view symbol, Op op, Id (Parser::*operand)()) {
    const Id first = (this->*operand)();
    if (!is(symbol)) return first;
    const std::uint32_t column = peek().column;
    std::vector<Id> operands{first};
    while (take(symbol)) operands.push_back((this->*operand)());
    return add(op, column, std::move(operands));
  }

  Id inversion() {
    const std::uint32_t column = peek().column;
    if (!take("not")) return comparison();
    if (++nesting_ > max_nesting) error("the expression is nested too deeply");
    const Id operand = inversion();
    --nesting_;
    return add(Op::logical_not, column, {operand});
  }

  std::optional<Op> comparison_operator() {
    struct Symbol {
      std::string_view text;
      Op op;
    };
    static constexpr std::array<Symbol, 7> known{{{"==", Op::equal},
                                                  {"!=", Op::not_equal},
                                                  {"<", Op::less},
                                                  {"<=", Op::less_equal},
                                                  {">", Op::greater},
                                                  {">=", Op::greater_equal},
                                                  {"in", Op::member}}};
    for (const Symbol& symbol : known) {
      if (take(symbol.text)) return symbol.op;
    }
    if (is("not") && is("in", 1)) {
      at_ += 2;
      return Op::not_member;
    }
    return std::nullopt;
  }

  Id comparison() {
    Id left = binary(0);
    std::vector<Id> links;
    std::uint32_t column = peek().column;
    const std::uint32_t first_column = column;
    while (const std::optional<Op> op = comparison_operator()) {
      const Id right = binary(0);
      links.push_back(add(*op, column, {left, right}));
      left = right;
      column = peek().column;
    }
    if (links.empty()) return left;
    return links.size() == 1 ? links.front() : add(Op::logical_and, first_column, std::move(links));
  }

  Id binary(int level) {
    if (level == unary_level) return unary();
    Id left = binary(level + 1);
    while (true) {
      const auto* const found =
          std::find_if(binary_operators.begin(), binary_operators.end(),
                       [this, level](const BinaryOperator& known) { return known.level == level && is(known.symbol); });
      if (found == binary_operators.end()) return left;
      const std::uint32_t column = peek().column;
      ++at_;
      const Id right = binary(level + 1);
      left = add(found->op, column, {left, right});
    }
  }

  Id unary() {
    const std::uint32_t column = peek().column;
    const Op op = is("-")   ? Op::negative
                  : is("+") ? Op::positive
                  : is("~") ? Op::invert
                  : is("!") ? Op::logical_not
                            : Op::literal;
    if (op == Op::literal) return power();
    ++at_;
    if (++nesting_ > max_nesting) error("the expression is nested too deeply");
    const Id operand = unary();
    --nesting_;
    return add(op, column, {operand});
  }

  Id power() {
    const Id base = postfix();
    const std::uint32_t column = peek().column;
    if (!take("**")) return base;
    if (++nesting_ > max_nesting) error("the expression is nested too deeply");
    const Id exponent = unary();
    --nesting_;
    return add(Op::power, column, {base, exponent});
  }

  Id postfix() {
    Id value = atom();
    while (is("[")) {
      const std::uint32_t column = peek().column;
      ++at_;
      const Id index = expression();
      expect("]");
      value = add(Op::subscript, column, {value, index});
    }
    if (is("(")) error("only the known functions can be called");
    if (is(".")) error("attributes are not supported");
    return value;
  }

  Id atom() {
    const Token token = peek();
    if (token.kind == TokenKind::literal) {
      ++at_;
      const Id literal = add(Op::literal, token.column, {});
      syntax_.nodes[literal].value = token.value;
      return literal;
    }
    if (token.kind == TokenKind::name) return name_or_call();
    if (take("(")) {
      if (take(")")) return add(Op::list, token.column, {});
      const Id first = expression();
      if (is(",")) return rest_of_tuple(first, TokenKind::symbol, ")");
      expect(")");
      return first;
    }
    if (take("[")) return list(token.column, "]");
    error(fmt::format("expected a value, found {}", found()));
  }

  /// After the first element of a tuple, up to and with `close`.
  Id rest_of_tuple(Id first, TokenKind end, std::string_view close) {
    std::vector<Id> elements{first};
    const std::uint32_t column = syntax_.nodes[first].column;
    const auto closed = [&] { return peek().kind == end && peek().text == close; };
    while (take(",")) {
      if (closed()) break;
      elements.push_back(expression());
    }
    if (end == TokenKind::symbol) expect(close);
    return add(Op::list, column, std::move(elements));
  }

  /// After the opening bracket.
  Id list(std::uint32_t column, std::string_view close) {
    std::vector<Id> elements;
    if (is_comprehension(close)) {
      const Id result = comprehension(column);
      expect(close);
      return result;
    }
    while (!take(close)) {
      if (!elements.empty()) expect(",");
      if (take(close)) break;
      elements.push_back(expression());
    }
    return add(Op::list, column, std::move(elements));
  }

  /// Whether a `for` stands before the bracket that closes this one: the element's names are known only behind it.
  bool is_comprehension(std::string_view close) const {
    int depth = 0;
    for (std::size_t i = at_; i < tokens_.size(); ++i) {
      if (tokens_[i].kind != TokenKind::symbol) continue;
      const std::string& text = tokens_[i].text;
      if (depth == 0 && text == close) return false;
      if (depth == 0 && text == "for") return true;
      if (text == "(" || text == "[") ++depth;
      if (text == ")" || text == "]") --depth;
    }
    return false;
  }

  Id comprehension(std::uint32_t column) {
    const std::size_t element_at = at_;
    int depth = 0;
    for (; depth > 0 || !is("for"); ++at_) {
      if (is("(") || is("[")) ++depth;
      if (is(")") || is("]")) --depth;
    }
    ++at_;
    if (peek().kind != TokenKind::name) error(fmt::format("expected a name after 'for', found {}", found()));
    const std::string variable = peek().text;
    ++at_;
    expect("in");
    const Id iterable = disjunction();  // not expression(): an `if` behind it is a filter
    bound_.push_back(variable);
    std::vector<Id> operands{0, iterable};
    while (take("if")) operands.push_back(disjunction());
    if (is("for")) error("one 'for' in a list is supported");
    const std::size_t end = std::exchange(at_, element_at);
    operands[0] = expression();
    if (!is("for")) error(fmt::format("expected 'for', found {}", found()));
    at_ = end;
    bound_.pop_back();
    return add(Op::comprehension, column, std::move(operands), static_cast<std::uint32_t>(bound_.size()));
  }

  Id name_or_call() {
    const std::uint32_t column = peek().column;
    std::string name = peek().text;
    ++at_;
    if (name == "math" && is(".") && peek(1).kind == TokenKind::name) {
      name = peek(1).text;
      at_ += 2;
      if (!is("(")) error(fmt::format("math.{} has to be called", name));
    }
    if (take("(")) {
      const std::optional<Function> function = function_named(name);
      if (!function) {
        syntax_error(syntax_.where, syntax_.text, column,
                     fmt::format("unknown function '{}' (known: {})", name, known_functions()));
      }
      const Id arguments = list(peek().column, ")");
      std::vector<Id> operands = syntax_.nodes[arguments].op == Op::comprehension ? std::vector<Id>{arguments}
                                                                                  : syntax_.nodes[arguments].operands;
      return add(Op::call, column, std::move(operands), static_cast<std::uint32_t>(*function));
    }
    const auto bound = std::find(bound_.rbegin(), bound_.rend(), name);
    if (bound != bound_.rend()) {
      return add(Op::bound, column, {}, static_cast<std::uint32_t>(std::distance(bound, bound_.rend()) - 1));
    }
    const auto known = std::find(syntax_.names.begin(), syntax_.names.end(), name);
    const auto index = static_cast<std::uint32_t>(known - syntax_.names.begin());
    if (known == syntax_.names.end()) syntax_.names.push_back(name);
    return add(Op::name, column, {}, index);
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::uint32_t nesting_ = 0;
  std::vector<std::string> bound_;
  Syntax syntax_;
};

}  // namespace

Syntax parse_syntax(std::string_view text, std::string_view where) { return Parser(text, where).run(); }

}  // namespace wavetune::templates
