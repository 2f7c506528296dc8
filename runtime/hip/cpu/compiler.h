// The CPU's hipRTC: HIP source through the system's C++ compiler into a code object.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wavetune::hip::cpu {

struct Compiler {
  std::string path;     ///< "g++", or what WAVETUNE_CPU_CXX says
  std::string name;     ///< "g++" or "clang++"
  std::string version;  ///< "12.2.0"
};
/// WAVETUNE_CPU_CXX, else g++, else clang++. Nothing when none can be started.
const std::optional<Compiler>& system_compiler();

struct Compiled {
  bool ok = false;
  std::string log;
  std::string code;  ///< code object when ok
};
/// Compiles kernels with AddressSanitizer, as WAVETUNE_CPU_SANITIZE=address does.
inline constexpr std::string_view sanitize_option = "-fsanitize=address";
/// `options` are those of hipRTC: -D, -I, -O and -std are passed on, --offload-arch must name this CPU, others fail as
/// they do in hipRTC.
Compiled compile(const std::string& source, const std::string& name, const std::vector<std::string>& options);

}  // namespace wavetune::hip::cpu
