#include "client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace wavetune::server {

Client::Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  const timeval patience{20, 0};  // a test that would hang fails instead
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("cannot connect to port " + std::to_string(port) + ": " + std::strerror(errno));
  }
}

Client::~Client() { close(); }

void Client::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void Client::send(const std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = ::send(socket_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (put <= 0) return;
    done += static_cast<size_t>(put);
  }
}

bool Client::read_more() {
  char bytes[65536];
  const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
  if (got <= 0) return false;
  buffer_.append(bytes, static_cast<size_t>(got));
  return true;
}

std::string Client::take(size_t bytes) {
  while (buffer_.size() < bytes && read_more()) {
  }
  const std::string taken = buffer_.substr(0, bytes);
  buffer_.erase(0, bytes);
  return taken;
}

std::string Client::take_line() {
  size_t end = 0;
  while ((end = buffer_.find("\r\n")) == std::string::npos) {
    if (!read_more()) return {};
  }
  return take(end + 2).substr(0, end);
}

ClientResponse Client::receive(bool has_body) {
  ClientResponse response;
  const std::string status = take_line();
  if (status.size() < 12) return response;
  response.status = std::stoi(status.substr(9, 3));
  for (std::string line = take_line(); !line.empty(); line = take_line()) {
    const size_t colon = line.find(": ");
    std::string name = line.substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    response.headers[name] = line.substr(colon + 2);
  }
  if (!has_body) return response;
  if (response.headers.contains("content-length")) {
    response.body = take(std::stoul(response.headers["content-length"]));
  } else if (response.headers["transfer-encoding"] == "chunked") {
    for (;;) {
      const std::string size = take_line();
      if (size.empty()) return response;
      const std::string chunk = take(std::stoul(size, nullptr, 16));
      take_line();
      if (chunk.empty()) break;
      response.chunks.push_back(chunk);
      response.body += chunk;
    }
  }
  return response;
}

ClientResponse Client::get(const std::string& path, const std::string& headers) {
  send("GET " + path + " HTTP/1.1\r\nHost: test\r\n" + headers + "\r\n");
  return receive();
}

ClientResponse Client::post(const std::string& path, const std::string& body, const std::string& headers) {
  send("POST " + path + " HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: " +
       std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body);
  return receive();
}

std::string Client::read_to_end() {
  while (read_more()) {
  }
  return std::exchange(buffer_, {});
}

std::vector<std::string> events_of(const std::string& body) {
  std::vector<std::string> events;
  size_t at = 0;
  while (at < body.size()) {
    const size_t end = body.find("\n\n", at);
    if (end == std::string::npos || body.compare(at, 6, "data: ") != 0)
      throw std::runtime_error("not an event: " + body.substr(at));
    events.push_back(body.substr(at + 6, end - at - 6));
    at = end + 2;
  }
  return events;
}

}  // namespace wavetune::server
