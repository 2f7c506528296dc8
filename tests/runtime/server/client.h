// A plain HTTP client over a blocking socket, which shows the bytes as they are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace wavetune::server {

struct ClientResponse {
  int status = 0;                              ///< 0: the connection ended before an answer
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;
  std::vector<std::string> chunks;  ///< of a chunked body
};

class Client {
 public:
  explicit Client(std::uint16_t port);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(const std::string& bytes);
  /// Reads one answer; `has_body` is false after HEAD.
  ClientResponse receive(bool has_body = true);
  ClientResponse get(const std::string& path, const std::string& headers = "");
  ClientResponse post(const std::string& path, const std::string& body, const std::string& headers = "");
  /// Everything until the server closes.
  std::string read_to_end();
  void close();

 private:
  bool read_more();
  std::string take(size_t bytes);
  std::string take_line();

  int socket_ = -1;
  std::string buffer_;
};

/// The "data: " payloads of an event stream.
std::vector<std::string> events_of(const std::string& body);

}  // namespace wavetune::server
