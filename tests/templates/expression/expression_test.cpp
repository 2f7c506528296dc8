// Expressions: values as Python gives them, and errors that say where.
#include "templates/expression/expression.h"

#include <gtest/gtest.h>

#include "db/base/error.h"

namespace wavetune::templates {
namespace {

const Scope scope{{"x", 7}, {"y", -3}, {"z", 0}, {"f", 2.5}, {"s", "row"}, {"b", true}, {"v", Value::List{4, 8, 15}}};

struct Case {
  const char* text;
  const char* value;  ///< Python's repr
};

class ExpressionValue : public testing::TestWithParam<Case> {};

TEST_P(ExpressionValue, IsPythons) {
  EXPECT_EQ(Expression::parse(GetParam().text, "here").evaluate(scope).repr(), GetParam().value) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(Literals, ExpressionValue,
                         testing::Values(Case{"12", "12"}, Case{"0x1F", "31"}, Case{"0b101", "5"},
                                         Case{"1_000", "1000"}, Case{"1.5", "1.5"}, Case{".5", "0.5"},
                                         Case{"2.", "2.0"}, Case{"1e3", "1000.0"}, Case{"2E-1", "0.2"},
                                         Case{"'a b'", "'a b'"}, Case{"\"q\"", "'q'"}, Case{"True", "True"},
                                         Case{"None", "None"}, Case{"[]", "[]"}, Case{"[1, 2,]", "[1, 2]"},
                                         Case{"(1,)", "[1]"}, Case{"(1)", "1"}, Case{"1, 2", "[1, 2]"},
                                         Case{"9223372036854775807", "9223372036854775807"}));

INSTANTIATE_TEST_SUITE_P(
    Arithmetic, ExpressionValue,
    testing::Values(Case{"x + y * 2", "1"}, Case{"(x + y) * 2", "8"}, Case{"x - y - 1", "9"}, Case{"7 / 2", "3.5"},
                    Case{"6 / 2", "3.0"}, Case{"7 // 2", "3"}, Case{"-7 // 2", "-4"}, Case{"7 // -2", "-4"},
                    Case{"-7 % 3", "2"}, Case{"7 % -3", "-2"}, Case{"-7.5 // 2", "-4.0"}, Case{"-7.5 % 2", "0.5"},
                    Case{"7.5 % -2", "-0.5"}, Case{"2 ** 10", "1024"}, Case{"2 ** -1", "0.5"}, Case{"-2 ** 2", "-4"},
                    Case{"2 ** 3 ** 2", "512"}, Case{"2 ** 0.5 ** 2", "1.189207115002721"}, Case{"(-8) ** 3", "-512"},
                    Case{"f * 2", "5.0"}, Case{"True + True", "2"}, Case{"-True", "-1"}, Case{"+b", "1"},
                    Case{"x & 3", "3"}, Case{"x | 8", "15"}, Case{"x ^ 1", "6"}, Case{"~x", "-8"},
                    Case{"1 << 4 + 1", "32"}, Case{"-9 >> 1", "-5"}, Case{"b & False", "False"},
                    Case{"x & 1 == 1", "True"}, Case{"'a' + s", "'arow'"}, Case{"[1] + v", "[1, 4, 8, 15]"}));

INSTANTIATE_TEST_SUITE_P(
    Conditions, ExpressionValue,
    testing::Values(Case{"x > 3", "True"}, Case{"3 < x < 5", "False"}, Case{"3 < x <= 7 != y", "True"},
                    Case{"x == 7.0", "True"}, Case{"b == 1", "True"}, Case{"s == 'row'", "True"},
                    Case{"s == 3", "False"}, Case{"s != 'col'", "True"}, Case{"s < 'sow'", "True"},
                    Case{"x in [1, 7]", "True"}, Case{"x not in v", "True"}, Case{"'o' in s", "True"},
                    Case{"not x", "False"}, Case{"not x == 3", "True"}, Case{"x and y", "-3"}, Case{"z or y", "-3"},
                    Case{"z and 1 / z", "0"}, Case{"z == 0 or x // z > 1", "True"}, Case{"x > 1 && y < 0 || z", "True"},
                    Case{"!z && !x", "False"}, Case{"1 if x > 3 else 2", "1"}, Case{"1 if z else 2 if z else 3", "3"},
                    Case{"x if b else 1 / z", "7"}, Case{"[1, 2] < [1, 3]", "True"}, Case{"None == z", "False"}));

INSTANTIATE_TEST_SUITE_P(
    Calls, ExpressionValue,
    testing::Values(Case{"min(x, y, 2)", "-3"}, Case{"max(v)", "15"}, Case{"abs(y)", "3"}, Case{"abs(-2.5)", "2.5"},
                    Case{"round(2.5)", "2"}, Case{"round(3.5)", "4"}, Case{"round(2.675, 2)", "2.67"},
                    Case{"math.ceil(x / 2)", "4"}, Case{"ceil(7)", "7"}, Case{"floor(-0.5)", "-1"},
                    Case{"int(-2.7)", "-2"}, Case{"int('42')", "42"}, Case{"float(3)", "3.0"},
                    Case{"float('1.5')", "1.5"}, Case{"len(v)", "3"}, Case{"len(s)", "3"}, Case{"sum(v)", "27"},
                    Case{"prod(v)", "480"}, Case{"sqrt(9)", "3.0"}, Case{"math.log2(8)", "3.0"},
                    Case{"pow(2, 5)", "32"}, Case{"str(x) + 'b'", "'7b'"}, Case{"bool([])", "False"},
                    Case{"sorted([3, 1, 2])", "[1, 2, 3]"}, Case{"v[0]", "4"}, Case{"v[-1]", "15"}, Case{"s[1]", "'o'"},
                    Case{"[[1, 2], [3]][0][1]", "2"}, Case{"list(range(4))", "[0, 1, 2, 3]"},
                    Case{"range(10, 0, -3)", "[10, 7, 4, 1]"}, Case{"[2**i for i in range(4)]", "[1, 2, 4, 8]"},
                    Case{"[i for i in v if i % 2 == 0 if i > 4]", "[8]"}, Case{"[x * i for i in (1, 2)]", "[7, 14]"},
                    Case{"sum(i * i for i in range(4))", "14"},
                    Case{"[[i * j for j in [1, 2]] for i in [1, 3]]", "[[1, 2], [3, 6]]"},
                    Case{"all(i > 3 for i in v) and any(i == 8 for i in v)", "True"}));

TEST(Expression, NamesAreFreeNamesInOrderOfUse) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(Expression::parse("b*a <= max(b, c) or [i for i in range(d)]", "").names(), (Names{"b", "a", "c", "d"}));
  EXPECT_EQ(Expression::parse("math.ceil(max) + 2", "").names(), (Names{"max"}));
  EXPECT_EQ(Expression::parse("[i for i in i]", "").names(), (Names{"i"}));
}

TEST(Expression, Numbers) {
  EXPECT_EQ(Expression::parse("(262144 // x) // 2", "").integer(scope), 18724);
  EXPECT_EQ(Expression::parse("8 / 2", "").integer(scope), 4);
  EXPECT_EQ(Expression::parse("x / 2", "").number(scope), 3.5);
  EXPECT_THROW(Expression::parse("x / 2", "").integer(scope), Error);
  EXPECT_THROW(Expression::parse("s", "").number(scope), Error);
}

struct Fault {
  const char* text;
  const char* message;  ///< part of it
};

void expect_fault(const Fault& fault) {
  try {
    const Value value = Expression::parse(fault.text, "condition 3 of conv.json").evaluate(scope);
    ADD_FAILURE() << fault.text << " gives " << value.repr();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.kind(), ErrorKind::bad_data);
    EXPECT_EQ(message.rfind("condition 3 of conv.json: ", 0), 0u) << message;
    EXPECT_NE(message.find(fault.message), std::string::npos) << fault.text << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(Expression, SyntaxErrorsSayWhere) {
  for (const Fault& fault : {
           Fault{"", "the expression is empty at column 1"},
           Fault{"x +", "expected a value, found the end at column 4: x + <-- here --> "},
           Fault{"x + )", "expected a value, found ')' at column 5: x +  <-- here --> );"},
           Fault{"(x", "expected ')', found the end at column 3"},
           Fault{"x y", "unexpected 'y' at column 3"},
           Fault{"x = 3", "unexpected '=' at column 3"},
           Fault{"x <> 3", "expected a value, found '>' at column 4"},
           Fault{"3x", "this is not a number at column 1"},
           Fault{"1.2.3", "this is not a number"},
           Fault{"0x", "this is not a number"},
           Fault{"99999999999999999999", "does not fit in 64 bits"},
           Fault{"'abc", "the string does not end at column 1"},
           Fault{"x $ 3", "unexpected character '$' at column 3"},
           Fault{"foo(x)", "unknown function 'foo' (known: abs, all,"},
           Fault{"x.real", "attributes are not supported"},
           Fault{"v[0](1)", "only the known functions can be called"},
           Fault{"[i for in v]", "expected a name after 'for'"},
           Fault{"1 if x", "expected 'else', found the end"},
           Fault{"lambda: 3", "expected a value, found 'lambda'"},
           Fault{"max(x", "expected ',', found the end"},
           Fault{"math.pi", "math.pi has to be called"},
       }) {
    expect_fault(fault);
  }
  expect_fault({(std::string(10000, '(') + "1" + std::string(10000, ')')).c_str(), "nested too deeply"});
  std::string sum = "1";
  for (int i = 0; i < 10000; ++i) sum += "+1";
  expect_fault({sum.c_str(), "nested too deeply"});
  expect_fault({(std::string(10000, '-') + "1").c_str(), "nested too deeply"});
}

TEST(Expression, EvaluationErrorsNameTheValues) {
  for (const Fault& fault : {
           Fault{"x % z == 0", "division by zero in 7 % 0: in 'x % z == 0' with x=7, z=0"},
           Fault{"x // z", "division by zero"},
           Fault{"x / z", "division by zero"},
           Fault{"f % 0.0", "division by zero in 2.5 % 0.0"},
           Fault{"z ** -1", "division by zero"},
           Fault{"w + 1", "unknown name 'w' (known: b, f, s, v, x, y, z)"},
           Fault{"x + s", "int and str do not go with '+': in 'x + s' with x=7, s='row'"},
           Fault{"s < x", "str and int do not go with '<'"},
           Fault{"x in y", "int and int do not go with 'in'"},
           Fault{"-s", "str does not go with '-'"},
           Fault{"~f", "float does not go with '~'"},
           Fault{"9223372036854775807 + x", "does not fit in 64 bits"},
           Fault{"10 ** 19", "10 ** 19 does not fit in 64 bits"},
           Fault{"2 ** 63", "does not fit"},
           Fault{"1 << 63", "does not fit"},
           Fault{"10.0 ** 400", "10.0 ** 400.0 does not fit in a float"},
           Fault{"1 << y", "negative shift count -3"},
           Fault{"int(1e30)", "does not fit"},
           Fault{"y ** 0.5", "is no real number"},
           Fault{"max(x)", "max() takes a list, not 7 (int)"},
           Fault{"max([])", "max() of an empty list"},
           Fault{"abs(x, y)", "abs() takes 1 argument, not 2"},
           Fault{"len(x)", "len() takes a list"},
           Fault{"v[3]", "index 3 is outside [4, 8, 15]"},
           Fault{"x[0]", "7 (int) has no elements"},
           Fault{"v['a']", "'a' is not an index"},
           Fault{"[i for i in x]", "7 is not a list"},
           Fault{"range(10**9)", "more than 1000000 elements"},
           Fault{"range(1, 2, 0)", "a step of zero"},
           Fault{"sqrt(y)", "sqrt(-3) is not defined"},
           Fault{"int('a')", "int() cannot read 'a'"},
       }) {
    expect_fault(fault);
  }
}

}  // namespace
}  // namespace wavetune::templates
