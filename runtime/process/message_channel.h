// Length-prefixed messages over a pair of file descriptors: how the driver talks to its compile workers and measuring
// processes. What a message says is its users' affair (JSON here and there, raw bytes elsewhere).
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace wavetune::process {

enum class ReadOutcome {
  message,  ///< a whole message arrived
  closed,   ///< the other end is gone, between messages or in the middle of one
  timeout,  ///< nothing complete yet; what has arrived is kept for the next call
};

/// Frames are 8 bytes of length (little endian) and the body. Does not own the descriptors. One thread may read while
/// another writes.
class MessageChannel {
 public:
  /// -1 for a direction that is not used. `limit` bounds a body: a longer announcement is taken as garbage (Error
  /// bad_data).
  MessageChannel(int read_fd, int write_fd, std::size_t limit = std::size_t{4} << 30);

  /// False when the other end is closed (SIGPIPE is not raised). Blocks while the pipe is full. Throws Error io
  /// otherwise.
  bool send(std::string_view body);

  /// Waits up to `timeout` (negative: for ever; 0: only what is there). On `message`, `body` holds it.
  ReadOutcome receive(std::string& body, std::chrono::milliseconds timeout = std::chrono::milliseconds{-1});

  int read_fd() const { return read_fd_; }

 private:
  int read_fd_;
  int write_fd_;
  std::size_t limit_;
  std::string pending_;  ///< bytes of an incomplete frame
};

/// Makes the process's real standard output unavailable to chatty libraries: returns a duplicate of descriptor 1 for
/// the channel and points descriptor 1 at standard error, so that a stray printf cannot break the framing.
int take_standard_output();

}  // namespace wavetune::process
