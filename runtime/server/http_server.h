// HTTP/1.1 over Boost.Beast: one thread for all sockets, keep-alive, a limit on bodies. What requests mean is the
// router's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/server/exchange.h"
#include "runtime/server/http_message.h"

namespace wavetune::server {

struct HttpOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8000;                           ///< 0: a free one
  std::size_t max_body_bytes = std::size_t{32} << 20;  ///< larger: 413. A prompt of a million tokens is about 5 MB.
  /// Clients' pools keep sockets for up to 900 s; a server that closes first shows as random resets (facts: 2.5, 4.10).
  std::chrono::seconds keep_alive{3600};
  std::chrono::seconds body_timeout{120};  ///< for the rest of a request once its headers are there, and for one write
};

/// Called on the socket thread: it must not block.
using HttpHandler = std::function<void(HttpRequest, std::shared_ptr<Exchange>)>;

class HttpServer {
 public:
  /// Binds and starts to answer. Throws Error: io (port in use, no permission; with advice), usage (host that is no
  /// address).
  HttpServer(const HttpOptions& options, HttpHandler handler);
  /// Closes all connections.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  /// "http://127.0.0.1:8000".
  std::string url() const;

  /// Requests that are being answered.
  std::int64_t active_exchanges() const;
  /// From now on answers say "Connection: close".
  void stop_keep_alive();
  /// Stops listening and closes all connections; clients that are being answered count as gone. Returns when that is
  /// done.
  void close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wavetune::server
