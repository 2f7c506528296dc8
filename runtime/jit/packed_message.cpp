#include "runtime/jit/packed_message.h"

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

#include "db/base/error.h"

namespace wavetune::jit {

std::string pack_message(const nlohmann::json& head, std::span<const std::byte> payload) {
  const std::string text = head.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::uint64_t length = text.size();
  std::string message(sizeof length, '\0');
  std::memcpy(message.data(), &length, sizeof length);
  message += text;
  message.append(reinterpret_cast<const char*>(payload.data()), payload.size());
  return message;
}

nlohmann::json unpack_message(std::string_view message, std::span<const std::byte>& payload) {
  std::uint64_t length = 0;
  if (message.size() < sizeof length)
    fail(ErrorKind::bad_data, "a worker message of {} bytes has no head", message.size());
  std::memcpy(&length, message.data(), sizeof length);
  message.remove_prefix(sizeof length);
  if (length > message.size())
    fail(ErrorKind::bad_data, "a worker message announces {} bytes of head and has {}", length, message.size());
  nlohmann::json head = nlohmann::json::parse(message.substr(0, length), nullptr, false);
  if (!head.is_object()) fail(ErrorKind::bad_data, "a worker message's head is not a JSON object");
  message.remove_prefix(length);
  payload = {reinterpret_cast<const std::byte*>(message.data()), message.size()};
  return head;
}

}  // namespace wavetune::jit
