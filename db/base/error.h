// The one way in which wavetune reports failure: an exception that says what happened, where, and what to do next.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace wavetune {

/// What kind of failure an Error is. Commands map it to an exit code, the server to an HTTP status.
enum class ErrorKind {
  usage,         ///< the caller asked for something that does not exist or does not fit (exit 2, HTTP 400)
  not_found,     ///< a file, model, row or device that should be there is not
  bad_data,      ///< a file or message is there but cannot be read as what it should be
  incompatible,  ///< readable, but from another version, architecture or machine
  io,            ///< the operating system refused (disk full, permission, port in use)
  device,        ///< a HIP, hipRTC or driver call failed
  internal,      ///< a promise of our own code was broken
};

std::string_view to_string(ErrorKind kind);

/// Message convention: "what happened: to which file, shape or setting; what to do next". One line.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }
  /// Process exit code for this failure: 2 for usage, 1 for everything else.
  int exit_code() const { return kind_ == ErrorKind::usage ? 2 : 1; }

 private:
  ErrorKind kind_;
};

/// Throws Error with a formatted message.
template <class... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace wavetune
