// Floats as unsigned integers in the same order, for selecting by digits. Both zeros are equal. NaN is not expected.

namespace order {

__device__ inline wt::u32 of(float value) {
  wt::u32 bits = __builtin_bit_cast(wt::u32, value);
  if (bits == 0x80000000u) bits = 0;
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

__device__ inline float value(wt::u32 key) {
  return __builtin_bit_cast(float, (key & 0x80000000u) != 0 ? key & 0x7FFFFFFFu : ~key);
}

/// True when the digits above bit `top` of both are equal.
__device__ inline bool same_above(wt::u32 a, wt::u32 b, int top) { return top == 32 || (a >> top) == (b >> top); }

}  // namespace order
