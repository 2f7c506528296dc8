// HIP numbers its errors as CUDA's driver does: wherever both know an error, the value is the same (invalid argument 1,
// out of memory 2, no device 100, illegal address 700, not supported 801, the captures 900 to 908). So a CUresult goes
// through as it is, compares equal to HIP's enumerator where there is one, and carries CUDA's own name and text in any
// thread; every CUresult lies in the range that hipError_t can hold.
#include <algorithm>
#include <array>
#include <utility>

#include "runtime/hip/cuda/calls.h"

namespace wavetune::hip::cuda {
namespace {

static_assert(hipErrorOutOfMemory == 2 && hipErrorNoDevice == CUDA_ERROR_NO_DEVICE &&
              hipErrorNotReady == CUDA_ERROR_NOT_READY);
static_assert(hipErrorIllegalAddress == 700 && hipErrorPeerAccessAlreadyEnabled == 704 && hipErrorLaunchFailure == 719);
static_assert(hipErrorNotSupported == 801 && hipErrorStreamCaptureUnsupported == 900 && hipErrorUnknown == 999);

thread_local hipError_t last_error = hipSuccess;

/// After these the context is lost: every call in this process fails until it ends, and so hipGetLastError goes on
/// saying it (ECC, contained, illegal address, timeout, assert, hardware stack, illegal instruction, misaligned
/// address, address space, program counter, launch failed, tensor memory leak, external device).
constexpr std::array<int, 14> lasting = {214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 911};

// What only this side reports.
struct Text {
  hipError_t code;
  const char* name;
  const char* text;
};
constexpr Text own_texts[] = {
    {hipErrorInvalidMemcpyDirection, "hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {hipErrorInvalidDeviceFunction, "hipErrorInvalidDeviceFunction", "invalid device function"},
};

const char* find_text(hipError_t code, const char* Text::*own, CUresult (*Driver::*cuda)(CUresult, const char**)) {
  for (const Text& entry : own_texts) {
    if (entry.code == code) return entry.*own;
  }
  const char* text = nullptr;
  const auto function = driver().*cuda;
  if (function == nullptr || function(static_cast<CUresult>(code), &text) != CUDA_SUCCESS || text == nullptr)
    return "unknown error";
  return text;
}

}  // namespace

hipError_t result(hipError_t code) {
  // "Not ready" is an answer, no failure.
  if (code != hipSuccess && code != hipErrorNotReady) last_error = code;
  return code;
}

hipError_t result(CUresult code) { return result(static_cast<hipError_t>(code)); }

void add_error_calls(Api& api) {
  api.hipGetErrorName = [](hipError_t code) { return find_text(code, &Text::name, &Driver::cuGetErrorName); };
  api.hipGetErrorString = [](hipError_t code) { return find_text(code, &Text::text, &Driver::cuGetErrorString); };
  api.hipGetLastError = [] {
    if (std::find(lasting.begin(), lasting.end(), static_cast<int>(last_error)) != lasting.end()) return last_error;
    return std::exchange(last_error, hipSuccess);
  };
}

}  // namespace wavetune::hip::cuda
