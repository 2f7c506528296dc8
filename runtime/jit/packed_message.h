// One message of a worker's protocol: a JSON head, then raw bytes (a code object, usually).
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

namespace wavetune::jit {

/// u64 length of the head (little endian), the head, the payload. Text that is not UTF-8 is repaired, not refused.
std::string pack_message(const nlohmann::json& head, std::span<const std::byte> payload = {});

/// Takes a message apart; `payload` points into `message`. Throws Error bad_data when it is not of that form.
nlohmann::json unpack_message(std::string_view message, std::span<const std::byte>& payload);

}  // namespace wavetune::jit
