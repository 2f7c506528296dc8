// `wavetune replay`: strategies on recorded spaces, without a device.
#pragma once

#include <string>
#include <vector>

namespace wavetune {

int replay_command(const std::vector<std::string>& arguments);

}  // namespace wavetune
