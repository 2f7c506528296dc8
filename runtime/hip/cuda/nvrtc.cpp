#include "runtime/hip/cuda/nvrtc.h"

#include <dlfcn.h>

#include <mutex>

#include "db/base/error.h"
#include "runtime/hip/cuda/calls.h"
#include "runtime/hip/cuda/nvrtc_install.h"
#include "runtime/hip/cuda/nvrtc_library.h"

namespace wavetune::hip::cuda {
namespace {

Nvrtc loaded;
std::string loaded_path;

Nvrtc open_nvrtc(const NvrtcInstall& install) {
  // NVRTC asks for its built-ins by name alone, which the loader finds when they are loaded already.
  if (!install.builtins.empty()) dlopen(install.builtins.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* handle = dlopen(install.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) fail(ErrorKind::not_found, "NVRTC cannot be loaded: {}", dlerror());
  Nvrtc nvrtc;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (function == nullptr) fail(ErrorKind::not_found, "{} has no function {}", install.library, name);
  };
#define WAVETUNE_FIND(name, ...) find(nvrtc.name, #name);
  WAVETUNE_NVRTC_FUNCTIONS(WAVETUNE_FIND)
#undef WAVETUNE_FIND
  find(nvrtc.nvrtcGetErrorString, "nvrtcGetErrorString");
  return nvrtc;
}

std::mutex& loading() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

Api load_nvrtc(const std::string& library) {
  {
    const std::lock_guard lock(loading());
    if (loaded_path.empty()) {
      loaded = open_nvrtc(describe_nvrtc(library, ""));
      loaded_path = library;
    } else if (loaded_path != library) {
      fail(ErrorKind::internal, "{} is loaded already; a process works with one NVRTC, not with {} too", loaded_path,
           library);
    }
  }
  Api api;
  add_rtc_calls(api);
  return api;
}

const Nvrtc* nvrtc() {
  const std::lock_guard lock(loading());
  if (loaded_path.empty()) {
    const NvrtcSearch search = find_nvrtc();
    if (!search.found) return nullptr;
    try {
      loaded = open_nvrtc(*search.found);
    } catch (const Error&) {
      return nullptr;
    }
    loaded_path = search.found->library;
  }
  return &loaded;
}

}  // namespace wavetune::hip::cuda
