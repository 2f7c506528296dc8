// From checkpoint tensors to the buffers of one rank: slicing, stacking, transposing, converting.
#include <fmt/ranges.h>

#include <bit>
#include <cstring>

#include "db/base/error.h"
#include "model/safetensors.h"

namespace wavetune::model {
namespace {

using templates::DType;
using templates::HostTensor;

float float_from_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: mantissa x 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

std::string shape_text(std::span<const std::int64_t> shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

DType source_type(const TensorView& view, const std::string& name) {
  if (view.dtype == "F32") return DType::f32;
  if (view.dtype == "BF16") return DType::bf16;
  if (view.dtype == "F16") return DType::f16;
  fail(ErrorKind::incompatible, "{}: tensor {} has number format {}; this build reads BF16, F32 and F16 checkpoints",
       view.file, name, view.dtype);
}

void check_shape(const TensorView& view, const WeightPart& part) {
  const bool vector = view.shape.size() == 1 && part.tensor_rows == 1 && view.shape[0] == part.tensor_cols;
  const bool matrix = view.shape.size() == 2 && view.shape[0] == part.tensor_rows && view.shape[1] == part.tensor_cols;
  if (vector || matrix) return;
  const std::string expected = part.tensor_rows == 1 ? fmt::format("[{}]", part.tensor_cols)
                                                     : fmt::format("[{}, {}]", part.tensor_rows, part.tensor_cols);
  fail(ErrorKind::bad_data, "{}: tensor {} has shape {}, but config.json makes it {}", view.file, part.tensor,
       shape_text(view.shape), expected);
}

template <class T>
T read_at(std::span<const std::byte> from, std::int64_t index) {
  T value;  // the file aligns to bytes only
  std::memcpy(&value, from.data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

/// Hands every element on as (index, float).
template <class Store>
void for_each_float(DType type, std::span<const std::byte> from, std::int64_t count, Store store) {
  for (std::int64_t i = 0; i < count; ++i) {
    switch (type) {
      case DType::f32:
        store(i, read_at<float>(from, i));
        break;
      case DType::bf16:
        store(i, templates::float_from_bf16(read_at<std::uint16_t>(from, i)));
        break;
      default:
        store(i, float_from_f16(read_at<std::uint16_t>(from, i)));
        break;
    }
  }
}

void store_float(HostTensor& tensor, std::int64_t index, float value) {
  if (tensor.dtype() == DType::f32) {
    tensor.as<float>()[static_cast<std::size_t>(index)] = value;
  } else {
    tensor.as<std::uint16_t>()[static_cast<std::size_t>(index)] = templates::bf16_from_float(value);
  }
}

void copy_part(const WeightPart& part, const TensorView& view, DType type, std::int64_t buffer_cols, HostTensor& out) {
  const std::int64_t count = part.col_end - part.col_begin;
  const auto source_size = static_cast<std::int64_t>(templates::size_of(type));
  for (std::int64_t row = part.row_begin; row < part.row_end; ++row) {
    const auto begin = static_cast<std::size_t>((row * part.tensor_cols + part.col_begin) * source_size);
    const auto from = view.bytes.subspan(begin, static_cast<std::size_t>(count * source_size));
    const std::int64_t local = row - part.row_begin;
    if (part.transpose) {
      for_each_float(type, from, count, [&](std::int64_t i, float value) {
        store_float(out, (part.destination_row + i) * buffer_cols + local, value);
      });
      continue;
    }
    const std::int64_t target = (part.destination_row + local) * buffer_cols;
    if (type == out.dtype()) {
      std::memcpy(out.bytes().data() + target * source_size, from.data(), from.size());
    } else {
      for_each_float(type, from, count, [&](std::int64_t i, float value) { store_float(out, target + i, value); });
    }
  }
}

}  // namespace

HostTensor load_weight(const Program& program, const Weight& weight, const Checkpoint& checkpoint) {
  const Buffer& buffer = program.buffers[static_cast<std::size_t>(weight.buffer)];
  const std::int64_t rows = buffer.rows.factor, cols = buffer.cols.factor;
  if (buffer.dtype != DType::f32 && buffer.dtype != DType::bf16) {
    fail(ErrorKind::internal, "weight buffer {} has dtype {}", buffer.name, templates::to_string(buffer.dtype));
  }
  HostTensor out(buffer.dtype, rows * cols);
  for (const WeightPart& part : weight.parts) {
    const TensorView view = checkpoint.get(part.tensor);
    check_shape(view, part);
    const std::int64_t part_rows = part.row_end - part.row_begin, part_cols = part.col_end - part.col_begin;
    const std::int64_t placed_rows = part.transpose ? part_cols : part_rows,
                       placed_cols = part.transpose ? part_rows : part_cols;
    if (placed_cols != cols || part.destination_row + placed_rows > rows) {
      fail(ErrorKind::internal, "a slice of {} does not fit weight buffer {} of {} x {}", part.tensor, buffer.name,
           rows, cols);
    }
    copy_part(part, view, source_type(view, part.tensor), cols, out);
  }
  return out;
}

}  // namespace wavetune::model
