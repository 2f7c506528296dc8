// One request's answer: given whole, or as a stream of events.
#pragma once

#include <functional>
#include <string>

#include "runtime/server/http_message.h"

namespace wavetune::server {

/// Either respond(), or start_stream(), send()... and finish(). Thread-safe; nothing blocks; calls after the end or
/// after the client has gone do nothing. An exchange that is dropped without an answer closes the connection.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual void respond(HttpResponse response) = 0;

  /// Headers of a 200 with this content type, chunked (HTTP/1.0: until the connection closes).
  virtual void start_stream(std::string content_type) = 0;
  /// Goes out as one chunk in one write.
  virtual void send(std::string bytes) = 0;
  virtual void finish() = 0;

  /// `gone` is called once, from any thread, when the client closes the connection before the answer is complete; at
  /// once when it has done so already.
  virtual void on_client_gone(std::function<void()> gone) = 0;
};

}  // namespace wavetune::server
