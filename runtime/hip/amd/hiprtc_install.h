// Where hipRTC is, found by looking at files: the asking process loads nothing.
#pragma once

#include <optional>
#include <string>

namespace wavetune::hip::amd {

struct HiprtcInstall {
  std::string library;  ///< path of libhiprtc.so.N
  std::string folder;   ///< that holds it and what it needs
  std::string loader;   ///< the dynamic loader that its process must be started through; empty: the system's own
  std::string version;  ///< of the file: "7.2.53211"
  std::string place;    ///< for messages: "ROCm in /opt/rocm", "private copy in .../.rocm"

  /// "7.2": what hiprtcVersion says, and what environments are stored under.
  std::string major_minor() const;
  /// Changes whenever the compiler does: version and the sizes of the files that decide the output.
  std::string identity() const;
};

struct HiprtcSearch {
  std::optional<HiprtcInstall> found;
  std::string looked;  ///< the places, in order
};

/// The newest libhiprtc.so.N with N >= 7 of the first place that has one: WAVETUNE_ROCM_PATH, ROCM_PATH, the loader's
/// path (LD_LIBRARY_PATH, ldconfig), /opt/rocm, then the copy that setup.sh put beside the sources of this build
/// (.rocm). A place is an installation (lib/) or a folder filled by cmake/fetch-rocm.sh (root/, or root/ itself). The
/// latter brings a C library newer than the host's, so that its processes start through its own loader.
HiprtcSearch find_hiprtc();

}  // namespace wavetune::hip::amd
