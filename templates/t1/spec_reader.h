// Reading a KernelSpecification: values that may be expressions, and fields that nobody knows.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "db/json_reader.h"
#include "templates/expression/expression.h"

namespace wavetune::templates {

class SpecReader {
 public:
  /// `names` are what expressions may use: the tuning parameters; ProblemSize is added.
  explicit SpecReader(std::vector<std::string> names);

  /// A number, or an expression in a string. Throws Error bad_data with the place for anything else, for text that does
  /// not parse, and for names that are not known.
  Expression expression(const db::JsonReader& place) const;
  /// The same with further names.
  Expression expression(const db::JsonReader& place, std::initializer_list<std::string_view> more) const;

  /// One of `words`, whatever its case; the index of it.
  std::size_t word(const db::JsonReader& place, std::initializer_list<std::string_view> words) const;
  /// true, false, 1 or 0.
  bool flag(const db::JsonReader& place) const;

  /// Notes the members of an object that are not among `known`: a misspelt field should not pass in silence.
  void note_unknown(const db::JsonReader& object, std::initializer_list<std::string_view> known);
  /// Once, however often it is said.
  void note(std::string text);

  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::vector<std::string> names_;
  std::vector<std::string> notes_;
};

}  // namespace wavetune::templates
