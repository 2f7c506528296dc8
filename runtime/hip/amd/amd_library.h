// Finding and loading AMD's HIP libraries.
#pragma once

#include <string>
#include <vector>

namespace wavetune::hip::amd {

/// A library that is loaded for the rest of the process's life, or the reason why none is.
struct Library {
  void* handle = nullptr;
  std::string path;  ///< what the loader was asked for
  std::string
      reason;  ///< when handle is null: files that were there and why they could not be loaded, or where was looked
};

/// "libamdhip64" -> the newest libamdhip64.so.N with N >= 7 in WAVETUNE_ROCM_PATH/lib, ROCM_PATH/lib, the loader's own
/// path or /opt/rocm/lib, in this order of places; where a place has only the unversioned name, that.
Library load_library(const std::string& stem);

}  // namespace wavetune::hip::amd
