#include "search/replay/t1_meaning.h"

#include <algorithm>
#include <memory>

#include "db/base/error.h"
#include "templates/t1/t1_file.h"

namespace wavetune {
namespace {

nlohmann::ordered_json json_of(const templates::Value& value) {
  if (value.is_bool()) return value.as_int() != 0;
  if (value.is_int()) return value.as_int();
  if (value.is_float()) return value.as_float();
  return value.as_string();
}

}  // namespace

db::ValueMeaning t1_meaning(const std::string& t1_path) {
  const auto file = std::make_shared<const templates::T1File>(templates::read_t1(t1_path));
  return [file](const std::string& name, std::int64_t stored) {
    const auto parameter = std::find_if(file->parameters.begin(), file->parameters.end(),
                                        [&name](const templates::T1Parameter& one) { return one.name == name; });
    if (parameter == file->parameters.end()) {
      fail(ErrorKind::bad_data, "{} has no parameter '{}', which the trials have: was another file tuned?",
           file->path.string(), name);
    }
    for (const templates::Value& value : parameter->values) {
      if (templates::space_value(*parameter, value) == stored) return json_of(value);
    }
    fail(ErrorKind::bad_data, "{}: parameter '{}' has no value for the trials' {}: was another file tuned?",
         file->path.string(), name, stored);
  };
}

}  // namespace wavetune
