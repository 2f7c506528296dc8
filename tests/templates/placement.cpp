#include "placement.h"

#include <array>

namespace wavetune::templates::test {
namespace {

constexpr std::int64_t guard_elements = 64;

/// One element's worth of bytes that no kernel writes by accident: NaN for floats.
std::array<std::byte, 8> poison(DType type) {
  std::array<std::byte, 8> bytes{};
  const auto put = [&](auto value) { std::memcpy(bytes.data(), &value, sizeof value); };
  switch (type) {
    case DType::f32:
      put(std::uint32_t{0x7fc0dead});
      break;
    case DType::bf16:
      put(std::uint16_t{0x7fed});
      break;
    case DType::f16:
      put(std::uint16_t{0x7eed});
      break;
    case DType::i32:
    case DType::u32:
      put(std::uint32_t{0x7eadbeef});
      break;
    case DType::i64:
    case DType::u64:
      put(std::uint64_t{0x7eadbeef7eadbeef});
      break;
    case DType::f64:
      put(std::uint64_t{0x7ff8deaddeaddead});
      break;
    case DType::i16:
    case DType::u16:
      put(std::uint16_t{0x7ead});
      break;
    case DType::i8:
    case DType::u8:
    case DType::fp4:
      put(std::uint8_t{0xa5});
      break;
    case DType::fp8:
    case DType::e8m0:
      put(std::uint8_t{0xff});
      break;
  }
  return bytes;
}

}  // namespace

Placement::Placement(const OperandSpec& spec, Layout layout)
    : spec_(spec), per_unit_(spec.dtype == DType::fp4 ? 2 : 1), size_(bytes_for(spec.dtype, per_unit_)) {
  spec_.cols /= per_unit_;
  const std::int64_t gap = layout == Layout::dense ? 0 : layout == Layout::padded ? 64 : 3;
  offset_ = guard_elements + (layout == Layout::misaligned ? 1 : 0);
  row_stride_ = spec_.cols + gap;
  batch_stride_ = spec.rows * row_stride_ + gap;
  image_.resize(static_cast<std::size_t>(offset_ + spec.batch * batch_stride_ + guard_elements) * size_);
  const auto pattern = poison(spec.dtype);
  for (std::size_t at = 0; at < image_.size(); at += size_) std::memcpy(image_.data() + at, pattern.data(), size_);
}

HostTensor Placement::take(std::vector<std::byte>& written) const {
  HostTensor tensor(spec_.dtype, spec_.count() * per_unit_);
  const auto pattern = poison(spec_.dtype);
  each_row([&](std::size_t dense, std::size_t place, std::size_t bytes) {
    std::memcpy(tensor.bytes().data() + dense, written.data() + place, bytes);
    for (std::size_t at = 0; at < bytes; at += size_) std::memcpy(written.data() + place + at, pattern.data(), size_);
  });
  return tensor;
}

}  // namespace wavetune::templates::test
