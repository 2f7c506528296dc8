// Small spaces with made-up constraints, written and as functions.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "search/strategy/random_numbers.h"
#include "templates/space.h"

namespace wavetune::search::test {

class RandomSpace {
 public:
  explicit RandomSpace(std::uint64_t seed) : random_(seed) {}

  templates::Space make() {
    templates::Space space;
    const std::uint64_t count = 2 + pick(4);
    for (std::uint64_t i = 0; i < count; ++i) add_parameter(space, "p" + std::to_string(i));
    const std::uint64_t constraints = pick(4);
    for (std::uint64_t i = 0; i < constraints; ++i) {
      if (pick(5) == 0) {
        add_function(space);
      } else {
        const auto expression = templates::Expression::parse(truth(3), "constraint " + std::to_string(i + 1));
        std::vector<std::vector<templates::Value>> values;
        for (const std::string& name : expression.names()) values.push_back(values_.at(name));
        space.require(expression, values);
      }
    }
    return space;
  }

 private:
  std::uint64_t pick(std::uint64_t bound) { return below(random_, bound); }

  void add_parameter(templates::Space& space, const std::string& name) {
    const std::uint64_t kind = pick(8);
    const std::uint64_t count = 1 + pick(5);
    std::vector<std::int64_t> numbers;
    std::vector<std::string> labels;
    std::vector<templates::Value>& values = values_[name];
    std::int64_t number = static_cast<std::int64_t>(pick(4)) - 1;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (kind < 6) {
        numbers.push_back(number);
        values.emplace_back(number);
        number += 1 + static_cast<std::int64_t>(pick(6));
      } else {
        numbers.push_back(static_cast<std::int64_t>(i));
        values.push_back(kind == 6 ? templates::Value(static_cast<double>(i) * 0.75)
                                   : templates::Value(std::string(1, static_cast<char>('a' + i))));
        labels.push_back(values.back().text());
      }
    }
    (kind < 7 ? numbers_ : texts_).push_back(name);
    space.add(name, numbers, labels);
  }

  void add_function(templates::Space& space) {
    const std::vector<templates::Parameter> all = space.parameters();
    const std::string a = all[pick(all.size())].name;
    const std::string b = all[pick(all.size())].name;
    const auto holds = [a, b](const db::Config& config) { return (config.at(a) * 3 + config.at(b)) % 4 != 1; };
    if (pick(2) == 0) {
      space.require("a function", holds);
    } else {
      space.require("a function", {a, b}, holds);
    }
  }

  std::string number(int depth) {
    if (depth == 0 || pick(4) == 0) {
      if (numbers_.empty() || pick(4) == 0) return std::to_string(pick(12));
      return numbers_[pick(numbers_.size())];
    }
    static const std::vector<std::string> operators{" + ", " - ", " * ", " * ", " * ", " // ", " % ", " / "};
    switch (pick(12)) {
      case 0:
        return "min(" + number(depth - 1) + ", " + number(depth - 1) + ")";
      case 1:
        return "max(" + number(depth - 1) + ", 3, " + number(depth - 1) + ")";
      case 2:
        return "abs(" + number(depth - 1) + ")";
      case 3:
        return "-" + number(0);
      case 4:
        return number(0) + " ** 2";
      case 5:
        return "ceil(" + number(depth - 1) + " / 4)";
      default:
        return "(" + number(depth - 1) + operators[pick(operators.size())] + number(depth - 1) + ")";
    }
  }

  std::string truth(int depth) {
    static const std::vector<std::string> comparisons{" < ", " <= ", " > ", " >= ", " == ", " != "};
    const std::uint64_t kind = depth == 0 ? 0 : pick(10);
    if (kind == 1) return number(0) + " in [1, 2, 4, 8]";
    if (kind == 2) return "not (" + truth(depth - 1) + ")";
    if (kind == 3 && !texts_.empty()) return texts_[pick(texts_.size())] + (pick(2) == 0 ? " == 'a'" : " != 'b'");
    if (kind == 4) return number(0) + " == 0 or " + number(2) + " % " + numbers_or_one() + " == 0";
    if (kind == 5) return number(1) + " <= " + number(2) + " < " + number(2);
    if (kind > 6) {
      std::string text = "(" + truth(depth - 1);
      const std::string op = pick(2) == 0 ? " and " : " or ";
      for (std::uint64_t i = 0; i <= pick(2); ++i) text += op + truth(depth - 1);
      return text + ")";
    }
    return number(2) + comparisons[pick(comparisons.size())] + number(2);
  }

  std::string numbers_or_one() { return numbers_.empty() ? "1" : numbers_[pick(numbers_.size())]; }

  std::mt19937_64 random_;
  std::vector<std::string> numbers_;
  std::vector<std::string> texts_;
  std::map<std::string, std::vector<templates::Value>> values_;
};

}  // namespace wavetune::search::test
