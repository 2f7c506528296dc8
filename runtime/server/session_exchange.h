// The side of a session that other threads hold.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/server/session.h"

namespace wavetune::server {

class SessionExchange final : public Exchange {
 public:
  SessionExchange(std::shared_ptr<SessionContext> context, std::weak_ptr<Session> session, std::uint64_t number);
  ~SessionExchange() override;

  void respond(HttpResponse response) override;
  void start_stream(std::string content_type) override;
  void send(std::string bytes) override;
  void finish() override;
  void on_client_gone(std::function<void()> gone) override;

  /// The session's call when the client has gone.
  void client_gone();
  /// The session's call when the answer is complete.
  void completed();

 private:
  enum class State { open, completed, gone };

  std::shared_ptr<SessionContext> context_;
  std::weak_ptr<Session> session_;
  std::uint64_t number_;
  std::mutex mutex_;
  State state_ = State::open;
  std::function<void()> gone_;
};

}  // namespace wavetune::server
