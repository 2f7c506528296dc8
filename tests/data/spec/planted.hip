// Doubles x; with planted = 1 something goes wrong. What the tuner must survive, and name.
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void planted_fault(const float* x, float* y, int n) {
  const int i = INDEX;
  if (i >= n) return;
  if (planted) *reinterpret_cast<volatile float*>(0x10) = x[i];
  y[i] = 2.0f * x[i];
}

extern "C" __global__ void planted_hang(const float* x, float* y, int n) {
  const int i = INDEX;
  if (i >= n) return;
  if (planted) {
    // No compiler may know that it never ends.
    const volatile float* first = x;
    while (*first > 0) {
    }
  }
  y[i] = 2.0f * x[i];
}

// One number of a hundred is wrong by a tenth.
extern "C" __global__ void planted_wrong(const float* x, float* y, int n) {
  const int i = INDEX;
  if (i >= n) return;
  y[i] = (planted && i % 100 == 37 ? 2.2f : 2.0f) * x[i];
}
