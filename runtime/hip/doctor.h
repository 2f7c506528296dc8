// What `doctor` looks at, as data.
#pragma once

#include <string>
#include <vector>

#include "runtime/hip/provider.h"

namespace wavetune::hip {

enum class Health {
  ok,
  missing,  ///< not there; `cost` says what does not work without it
  warning,  ///< there, but will make trouble
};
std::string_view to_string(Health health);

struct Finding {
  std::string name;
  Health health = Health::ok;
  std::string detail;  ///< version, path, or why not
  std::string cost;    ///< empty when ok
};

struct Diagnosis {
  std::vector<ProviderStatus> providers;
  std::vector<DeviceInfo> devices;  ///< of every usable provider
  std::vector<Finding> findings;
};

/// Looks at this machine. Takes a second or two: compilers are started and libraries loaded.
Diagnosis diagnose();

}  // namespace wavetune::hip
