// What the host sides of the operators share: checking shapes, packing parameter structs, alignment of views.
#pragma once

#include <bit>
#include <cstring>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "templates/operator.h"

namespace wavetune::templates {

/// One dimension that an operator wants, with the values it accepts (both ends included).
struct DimRange {
  std::string_view name;
  std::int64_t low;
  std::int64_t high;
};

/// Largest m (tokens of a step, or token-expert pairs) that any kernel is written for: row numbers times small factors
/// stay within 32 bits.
inline constexpr std::int64_t max_rows = std::int64_t{1} << 24;
/// Largest width of a row: the second grid dimension then stays within 65535 blocks.
inline constexpr std::int64_t max_cols = std::int64_t{1} << 19;

/// Throws Error usage when the dtype is not one of the operator's, or a dimension is missing, unknown or out of range.
void check_shape(const Operator& op, const Problem& problem, std::initializer_list<DimRange> dims);

/// The code that wt::element<CODE> takes: 0 f32, 1 bf16. Throws Error internal for others.
int element_code(DType type);
/// The element type of the activations of `problem`: its dtype text must name one type.
DType element_type(const Problem& problem);

/// `values` and `more`, for Operator::constants.
db::NamedInts with_constants(db::NamedInts values,
                             std::initializer_list<std::pair<const std::string, std::int64_t>> more);

/// CPU devices get serial variants in their spaces (one thread a row, no barriers): there the threads of a block with
/// barriers are fibers, and a plain loop is what the compiler vectorises.
bool is_cpu(const DeviceLimits& limits);

/// True when vectors of `elements` elements can be accessed at every row: address and both strides are multiples of the
/// vector's size.
bool vector_aligned(const View& view, DType type, std::int64_t elements);

/// Throws Error usage when `view` does not begin at a multiple of 16 bytes or its rows do not.
void require_chunks(const View& view, DType type, std::string_view op, std::string_view operand);

/// Most slots of a paged cache.
inline constexpr std::int64_t max_slots = std::int64_t{1} << 30;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The least power of two that is not below `value`, 1 at least: block tiles are held against it.
constexpr std::int64_t power_of_two_above(std::int64_t value) {
  return value <= 1 ? 1 : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(value)));
}

/// Bytes of so many packed elements, in the type that sizes and strides are computed in.
inline std::int64_t bytes_of(DType type, std::int64_t elements) {
  return static_cast<std::int64_t>(bits_of(type)) * elements / 8;
}

/// Bytes of a kernel's parameter struct, which must have the layout of the struct `Params` in the .hip file.
template <class Params>
std::vector<std::byte> pack(const Params& params) {
  static_assert(std::is_trivially_copyable_v<Params>);
  std::vector<std::byte> bytes(sizeof(Params));
  std::memcpy(bytes.data(), &params, sizeof(Params));
  return bytes;
}

/// Value of a configuration's parameter. Throws Error internal when it is absent.
std::int64_t parameter(const Config& config, std::string_view name);

/// Value of a call's scalar. Throws Error internal when it is absent.
double scalar(const Call& call, std::string_view name);

}  // namespace wavetune::templates
