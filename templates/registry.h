// All operator families that this build knows.
#pragma once

#include <string_view>
#include <vector>

#include "templates/operator.h"

namespace wavetune::templates {

/// In a fixed order (alphabetical by name).
const std::vector<const Operator*>& all_operators();
/// Nullptr when there is none of that name.
const Operator* find_operator(std::string_view name);
/// Throws Error usage that lists the known names.
const Operator& get_operator(std::string_view name);

}  // namespace wavetune::templates
