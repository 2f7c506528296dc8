// Where NVRTC is, found by looking at files: the asking process loads nothing (it is 100 MB).
#pragma once

#include <optional>
#include <string>

namespace wavetune::hip::cuda {

struct NvrtcInstall {
  std::string library;   ///< path of libnvrtc.so.N
  std::string builtins;  ///< path of libnvrtc-builtins.so.N.M beside it, which it loads by name; empty: there is none
  std::string version;   ///< "13.0", as nvrtcVersion says
  std::string place;     ///< for messages: "CUDA in /usr/local/cuda", "private copy in .../.cuda"

  /// Changes whenever the compiler does: version and the sizes of the files that decide the output.
  std::string identity() const;
};

struct NvrtcSearch {
  std::optional<NvrtcInstall> found;
  std::string looked;  ///< the places, in order

  /// What to tell when nothing is found: where was looked and what to do.
  std::string missing() const;
};

/// The newest libnvrtc.so.N with N >= 12 of the first place that has one: WAVETUNE_CUDA_PATH, CUDA_PATH,
/// /usr/local/cuda, the loader's path (LD_LIBRARY_PATH, ldconfig), lib/ of the folder that wavetune is installed in,
/// then the copy that setup.sh put beside the sources of this build (.cuda). A place is a toolkit (lib64/, lib/), a
/// folder that NVIDIA's Python wheel was unpacked to (nvidia/cu13/lib), or one that holds the library itself.
NvrtcSearch find_nvrtc();

/// What the library at this path and the files beside it say of it.
NvrtcInstall describe_nvrtc(const std::string& library, std::string place);

}  // namespace wavetune::hip::cuda
