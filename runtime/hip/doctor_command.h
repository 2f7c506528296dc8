// The `doctor` command: what of devices, compilers and libraries is there, and what each missing one costs.
#pragma once

#include <string>
#include <vector>

namespace wavetune {

/// `wavetune doctor [--json]`. Returns 0 when there is a device that kernels can be compiled for, else 1.
int doctor_command(const std::vector<std::string>& arguments);

}  // namespace wavetune
