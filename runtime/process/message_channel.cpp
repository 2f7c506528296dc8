#include "runtime/process/message_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "db/base/error.h"
#include "runtime/process/signals.h"

namespace wavetune::process {
namespace {

constexpr std::size_t header_bytes = 8;

std::array<char, header_bytes> encode(std::uint64_t length) {
  std::array<char, header_bytes> bytes;
  for (std::size_t i = 0; i < header_bytes; ++i) bytes[i] = static_cast<char>(length >> (8 * i));
  return bytes;
}

std::uint64_t decode(const char* bytes) {
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < header_bytes; ++i)
    length |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return length;
}

bool write_all(int fd, const char* data, std::size_t bytes) {
  while (bytes != 0) {
    const ssize_t written = write(fd, data, bytes);
    if (written > 0) {
      data += written;
      bytes -= static_cast<std::size_t>(written);
    } else if (errno == EPIPE) {
      return false;
    } else if (errno == EAGAIN) {
      pollfd room{fd, POLLOUT, 0};
      poll(&room, 1, -1);
    } else if (errno != EINTR) {
      fail(ErrorKind::io, "cannot write to a worker's pipe: {}", std::strerror(errno));
    }
  }
  return true;
}

}  // namespace

MessageChannel::MessageChannel(int read_fd, int write_fd, std::size_t limit)
    : read_fd_(read_fd), write_fd_(write_fd), limit_(limit) {}

bool MessageChannel::send(std::string_view body) {
  const SigpipeBlocked no_sigpipe;
  const auto header = encode(body.size());
  if (body.size() > 4096)
    return write_all(write_fd_, header.data(), header.size()) && write_all(write_fd_, body.data(), body.size());
  // One write for small messages: half as many wake-ups of the reader.
  std::string frame(header.data(), header.size());
  frame.append(body);
  return write_all(write_fd_, frame.data(), frame.size());
}

ReadOutcome MessageChannel::receive(std::string& body, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::array<char, 65536> buffer;
  for (;;) {
    if (pending_.size() >= header_bytes) {
      const std::uint64_t length = decode(pending_.data());
      if (length > limit_) {
        fail(ErrorKind::bad_data, "a worker's message claims {} bytes; something else wrote to its pipe", length);
      }
      if (pending_.size() - header_bytes >= length) {
        body.assign(pending_, header_bytes, length);
        pending_.erase(0, header_bytes + length);
        return ReadOutcome::message;
      }
      pending_.reserve(header_bytes + length);
    }
    int wait_ms = -1;
    if (timeout.count() >= 0) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      wait_ms = static_cast<int>(std::max<std::int64_t>(0, left.count()));
    }
    pollfd ready{read_fd_, POLLIN, 0};
    const int polled = poll(&ready, 1, wait_ms);
    if (polled < 0 && errno == EINTR) continue;
    if (polled == 0) return ReadOutcome::timeout;
    const ssize_t got = read(read_fd_, buffer.data(), buffer.size());
    if (got > 0) {
      pending_.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
      return ReadOutcome::closed;
    }
  }
}

int take_standard_output() {
  const int channel = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (channel < 0) fail(ErrorKind::io, "cannot duplicate standard output: {}", std::strerror(errno));
  dup2(STDERR_FILENO, STDOUT_FILENO);
  return channel;
}

}  // namespace wavetune::process
