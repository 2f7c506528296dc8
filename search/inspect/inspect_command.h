// `wavetune inspect`: a configuration's machine code, without a GPU.
#pragma once

#include <string>
#include <vector>

namespace wavetune {

int inspect_command(const std::vector<std::string>& arguments);

}  // namespace wavetune
