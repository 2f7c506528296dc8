#include "search/driver/machine_name.h"

#include <fmt/format.h>

#include <array>

namespace wavetune::search {

std::string machine_name(const std::string& host, const hip::Provider& provider, int device) {
  std::array<char, 64> address{};
  const bool gpu = provider.kind() != hip::ProviderKind::cpu;
  if (gpu &&
      provider.api().hipDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()) - 1, device) == hipSuccess) {
    return fmt::format("{}:{}", host, address.data());
  }
  return fmt::format("{}:{}", host, device);
}

}  // namespace wavetune::search
