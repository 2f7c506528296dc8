#include "runtime/hip/cpu/sanitizer.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string_view>

#include "db/base/error.h"

namespace wavetune::hip::cpu {
namespace {

template <class Function>
void find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

Sanitizer look() {
  Sanitizer found;
  find(found.start_switch_fiber, "__sanitizer_start_switch_fiber");
  find(found.finish_switch_fiber, "__sanitizer_finish_switch_fiber");
  find(found.unpoison, "__asan_unpoison_memory_region");
  find(found.set_death_callback, "__sanitizer_set_death_callback");
  found.present =
      found.start_switch_fiber != nullptr && found.finish_switch_fiber != nullptr && found.unpoison != nullptr;
  return found;
}

}  // namespace

const Sanitizer& sanitizer() {
  static const Sanitizer found = look();
  return found;
}

bool sanitize_kernels() {
  const char* value = std::getenv("WAVETUNE_CPU_SANITIZE");
  if (value == nullptr || *value == '\0') return false;
  if (std::string_view(value) != "address") {
    fail(ErrorKind::usage, "WAVETUNE_CPU_SANITIZE is '{}'; the one value it takes is 'address'", value);
  }
  return true;
}

}  // namespace wavetune::hip::cpu
