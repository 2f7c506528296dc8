#include "templates/t1/spec_reader.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "db/base/error.h"

namespace wavetune::templates {
namespace {

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

template <class Words>
std::string listed(const Words& words) {
  std::string text;
  for (const auto& word : words) text += fmt::format("{}{}", text.empty() ? "" : ", ", word);
  return text;
}

}  // namespace

SpecReader::SpecReader(std::vector<std::string> names) : names_(std::move(names)) {
  names_.emplace_back("ProblemSize");
}

Expression SpecReader::expression(const db::JsonReader& place) const { return expression(place, {}); }

Expression SpecReader::expression(const db::JsonReader& place, std::initializer_list<std::string_view> more) const {
  const nlohmann::json& value = place.json();
  if (!value.is_number() && !value.is_string()) place.fail_here("must be a number or an expression in a string");
  Expression expression = Expression::parse(value.is_string() ? value.get<std::string>() : value.dump(), place.path());
  for (const std::string& name : expression.names()) {
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) continue;
    if (std::find(more.begin(), more.end(), name) != more.end()) continue;
    std::string known = listed(names_);
    if (more.size() > 0) known += ", " + listed(more);
    place.fail_here(fmt::format("'{}' in '{}' is not known here; there are: {}", name, expression.text(), known));
  }
  return expression;
}

std::size_t SpecReader::word(const db::JsonReader& place, std::initializer_list<std::string_view> words) const {
  const std::string text = place.text();
  const auto* const found =
      std::find_if(words.begin(), words.end(), [&](std::string_view word) { return same_word(word, text); });
  if (found == words.end()) place.fail_here(fmt::format("'{}' is not one of {}", text, listed(words)));
  return static_cast<std::size_t>(found - words.begin());
}

bool SpecReader::flag(const db::JsonReader& place) const {
  const nlohmann::json& value = place.json();
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) {
    const std::int64_t number = place.integer();
    if (number == 0 || number == 1) return number == 1;
  }
  place.fail_here("must be true, false, 1 or 0");
}

void SpecReader::note_unknown(const db::JsonReader& object, std::initializer_list<std::string_view> known) {
  for (const auto& [name, member] : object.members()) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      note(member.path() + " is not a field that wavetune knows, and is not used");
  }
}

void SpecReader::note(std::string text) {
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(std::move(text));
}

}  // namespace wavetune::templates
