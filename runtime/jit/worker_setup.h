// Which compiler answers for a device spec, and how a worker process with it is started.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace wavetune::jit {

struct WorkerSetup {
  std::string device;        ///< kind of provider: "hip", "cuda", "cpu"
  std::string library;       ///< path of libhiprtc.so.N or libnvrtc.so.N, loaded alone: a compile needs no GPU; empty:
                             ///< the provider compiles
  std::string loader;        ///< dynamic loader that the worker starts through; empty: the system's own
  std::string library_path;  ///< for that loader
  std::string identity;      ///< part of a cache entry's name: changes whenever the compiler does

  /// The command line of a worker. `executable` empty: this program, through a link that works on when its file is
  /// replaced while this process runs (an upgrade), and that means the same in the worker.
  std::vector<std::string> command(const std::filesystem::path& executable) const;
  bool operator==(const WorkerSetup&) const = default;
};

/// For a device spec ("cpu:2", "hip", "auto"). Throws Error usage for what is no spec and not_found when there is no
/// compiler for it.
WorkerSetup worker_setup(const std::string& device);

}  // namespace wavetune::jit
