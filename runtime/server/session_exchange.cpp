#include "runtime/server/session_exchange.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace wavetune::server {
namespace {

template <class Call>
void post(SessionContext& context, const std::weak_ptr<Session>& session, Call call) {
  boost::asio::post(context.io, [session, call = std::move(call)] {
    if (const auto open = session.lock()) call(*open);
  });
}

}  // namespace

SessionExchange::SessionExchange(std::shared_ptr<SessionContext> context, std::weak_ptr<Session> session,
                                 std::uint64_t number)
    : context_(std::move(context)), session_(std::move(session)), number_(number) {}

SessionExchange::~SessionExchange() {
  post(*context_, session_, [number = number_](Session& session) { session.drop(number); });
}

void SessionExchange::respond(HttpResponse response) {
  post(*context_, session_,
       [number = number_, response = std::move(response)](Session& session) { session.respond(number, response); });
}

void SessionExchange::start_stream(std::string content_type) {
  post(*context_, session_, [number = number_, content_type = std::move(content_type)](Session& session) {
    session.start_stream(number, content_type);
  });
}

void SessionExchange::send(std::string bytes) {
  post(*context_, session_,
       [number = number_, bytes = std::move(bytes)](Session& session) { session.send(number, bytes); });
}

void SessionExchange::finish() {
  post(*context_, session_, [number = number_](Session& session) { session.finish(number); });
}

void SessionExchange::on_client_gone(std::function<void()> gone) {
  std::unique_lock lock(mutex_);
  if (state_ == State::open) {
    gone_ = std::move(gone);
    return;
  }
  const bool call = state_ == State::gone;
  lock.unlock();
  if (call) gone();
}

void SessionExchange::client_gone() {
  std::unique_lock lock(mutex_);
  if (state_ != State::open) return;
  state_ = State::gone;
  const std::function<void()> gone = std::exchange(gone_, nullptr);
  lock.unlock();
  if (gone) gone();
}

void SessionExchange::completed() {
  // Destroyed after the lock: it may hold the last reference to what it would have told.
  std::function<void()> gone;
  const std::scoped_lock lock(mutex_);
  if (state_ == State::open) state_ = State::completed;
  gone = std::exchange(gone_, nullptr);
}

}  // namespace wavetune::server
