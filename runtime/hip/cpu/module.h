// Loaded code objects and their kernels.
#pragma once

#include <hip/hip_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/hip/cpu/executor.h"

namespace wavetune::hip::cpu {

class Module;

/// A hipFunction_t: lives as long as its module, which launches in flight keep alive.
struct Function {
  Module* module = nullptr;
  KernelState state;
};

class Module {
 public:
  /// hipErrorInvalidImage when it is not a code object of ours or of another version, hipErrorNoBinaryForGpu when it
  /// was compiled for another processor, hipErrorSharedObjectInitFailed when it cannot be loaded (the reason is on
  /// stderr).
  static hipError_t load(const void* image, int device, std::shared_ptr<Module>& module);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  int device() const { return device_; }
  Function* find(std::string_view name);
  const std::vector<std::unique_ptr<Function>>& functions() const { return functions_; }

 private:
  Module() = default;

  int device_ = 0;
  void* library_ = nullptr;
  std::filesystem::path file_;  ///< kept while loaded under AddressSanitizer: its reports read line numbers from it
  std::atomic<unsigned> shared_slots_{0};
  std::vector<std::unique_ptr<Function>> functions_;
};

/// A kernel's parameters, copied out of a launch call.
class Arguments {
 public:
  /// From one pointer a parameter (`kernelParams`).
  Arguments(const wt_cpu::Entry& entry, void* const* pointers);
  /// From a packed buffer, in which every parameter has its natural alignment.
  Arguments(const wt_cpu::Entry& entry, const void* packed);

  void* const* pointers() const { return pointers_.data(); }
  /// Bytes that a packed buffer for `entry` has.
  static std::size_t packed_bytes(const wt_cpu::Entry& entry);

 private:
  void fill(const wt_cpu::Entry& entry);

  std::vector<std::max_align_t> storage_;
  std::vector<void*> pointers_;
};

}  // namespace wavetune::hip::cpu
