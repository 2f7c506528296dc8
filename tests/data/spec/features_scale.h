#pragma once

#ifndef kernel_tuner
#error "parameters come from outside"
#endif

__device__ inline float scaled(float value, float scale) {
#if layout == 1
  return value * scale;
#else
  return scale * value;
#endif
}
