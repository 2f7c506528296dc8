// Reading files of bytes (ELF and the like) without ever looking beyond their end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace wavetune {

/// The T at `offset`; nothing when it does not lie wholly within the bytes.
template <class T>
std::optional<T> read_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// `size` bytes from `offset` on; nothing when they do not lie wholly within the bytes.
inline std::optional<std::span<const std::byte>> slice(std::span<const std::byte> bytes, std::uint64_t offset,
                                                       std::uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.subspan(offset, size);
}

}  // namespace wavetune
