// From a T1 file to the space that a search walks.
#include <algorithm>

#include "templates/t1/t1_file.h"

namespace wavetune::templates {
namespace {

void add_parameter(Space& space, const T1Parameter& parameter) {
  std::vector<std::int64_t> values;
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < parameter.values.size(); ++i) {
    if (parameter.type == T1Type::integer) {
      values.push_back(parameter.values[i].as_int());
    } else {
      values.push_back(static_cast<std::int64_t>(i));
      labels.push_back(parameter.values[i].text());
    }
  }
  space.add(parameter.name, std::move(values), std::move(labels));
}

}  // namespace

Space space_of(const T1File& file) {
  Space space;
  for (const T1Parameter& parameter : file.parameters) add_parameter(space, parameter);
  for (const T1Condition& condition : file.conditions) {
    std::vector<std::vector<Value>> values;
    for (const std::string& name : condition.parameters) {
      values.push_back(std::find_if(file.parameters.begin(), file.parameters.end(), [&name](const T1Parameter& each) {
                         return each.name == name;
                       })->values);
    }
    space.require(condition.expression, std::move(values));
  }
  return space;
}

}  // namespace wavetune::templates
