// Expressions as they stand in T1 files: Python's, without assignments, attributes (but for math.) and lambdas.
//
// Literals, True/False/None, names, + - * / // % ** and unary + - not, bit operators & | ^ ~ << >>, chained
// comparisons, in / not in, and / or (also && || !), a if c else b, lists, tuples, list comprehensions over one name
// ([2**i for i in range(4)]), subscripts, and the calls abs all any bool ceil exp float floor int len list log log2
// max min pow prod range round set sorted sqrt str sum, with or without "math." before them.
// Division and remainder round towards minus infinity, as Python's do; integers have 64 bits and overflow is an error.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "templates/expression/value.h"

namespace wavetune::templates {

struct Syntax;  // templates/expression/syntax.h

class Expression {
 public:
  /// `where` is for messages, e.g. "condition 3 of conv.json". Throws Error bad_data naming it, the column, and the
  /// place in the text.
  static Expression parse(std::string_view text, std::string_view where);

  const std::string& text() const;
  const std::string& where() const;
  /// The free names, in the order of their first use. Called functions and "math" are not among them.
  const std::vector<std::string>& names() const;

  // All of these throw Error bad_data naming `where`, the expression, the fault (a name that the scope lacks, a wrong
  // type, a division by zero, an overflow) and the values of the names.
  Value evaluate(const Scope& scope) const;
  /// Python's truth of the value.
  bool holds(const Scope& scope) const { return evaluate(scope).truthy(); }
  /// The value as an integer: an int, a bool or a float that is whole.
  std::int64_t integer(const Scope& scope) const;
  double number(const Scope& scope) const;

  /// For compilers (templates/expression/compiled.h).
  const std::shared_ptr<const Syntax>& syntax() const { return syntax_; }

 private:
  explicit Expression(std::shared_ptr<const Syntax> syntax) : syntax_(std::move(syntax)) {}
  std::shared_ptr<const Syntax> syntax_;
};

}  // namespace wavetune::templates
