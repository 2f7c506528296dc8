#include "runtime/hip/amd/hiprtc_library.h"

#include <dlfcn.h>

#include <type_traits>

#include "db/base/error.h"

namespace wavetune::hip::amd {

Api load_hiprtc(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) fail(ErrorKind::not_found, "hipRTC cannot be loaded: {}", dlerror());
  Api api;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (function == nullptr) fail(ErrorKind::not_found, "{} has no function {}", library, name);
  };
#define WAVETUNE_FROM_RTC(name) find(api.name, #name);
  WAVETUNE_HIPRTC_FUNCTIONS(WAVETUNE_FROM_RTC)
#undef WAVETUNE_FROM_RTC
  return api;
}

}  // namespace wavetune::hip::amd
