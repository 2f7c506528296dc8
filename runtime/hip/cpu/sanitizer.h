// AddressSanitizer's runtime, when it is in the process (preloaded, or because this build has it): found at run time,
// so that one executable serves both cases.
#pragma once

#include <cstddef>

namespace wavetune::hip::cpu {

struct Sanitizer {
  bool present = false;
  void (*start_switch_fiber)(void** fake_stack_save, const void* bottom, std::size_t size) = nullptr;
  void (*finish_switch_fiber)(void* fake_stack_save, const void** bottom_old, std::size_t* size_old) = nullptr;
  void (*unpoison)(const volatile void* address, std::size_t size) = nullptr;
  void (*set_death_callback)(void (*callback)()) = nullptr;
};

const Sanitizer& sanitizer();

/// WAVETUNE_CPU_SANITIZE=address: kernels are compiled with AddressSanitizer. Throws Error usage for another value.
bool sanitize_kernels();

}  // namespace wavetune::hip::cpu
