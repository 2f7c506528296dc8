#include "runtime/server/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/status.hpp>
#include <utility>

#include "runtime/server/api_error.h"
#include "runtime/server/session_exchange.h"

namespace wavetune::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

constexpr std::uint32_t max_header_bytes = 32 << 10;
/// How much of the following requests is read while one is answered.
constexpr std::size_t max_read_ahead_bytes = 64 << 10;
/// Answers that a client does not read wait in memory up to here; then it counts as gone.
constexpr std::size_t max_queued_bytes = std::size_t{64} << 20;
constexpr std::chrono::seconds drain_time{2};

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

std::string_view reason_of(int status) {
  return view(http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status))));
}

/// Bytes that a header value may have: an echoed id must not end the header.
bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

}  // namespace

Session::Session(asio::ip::tcp::socket socket, std::shared_ptr<SessionContext> context)
    : context_(std::move(context)), stream_(std::move(socket)) {}

void Session::start() {
  beast::error_code ignored;
  stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
  context_->sessions.insert(shared_from_this());
  read_header();
}

void Session::close() {
  if (closed_) return;
  closed_ = true;
  if (const auto exchange = exchange_.lock()) exchange->client_gone();
  if (current_ != 0) end_exchange();
  stream_.close();
  context_->sessions.erase(shared_from_this());
}

void Session::read_header() {
  parser_.emplace();
  parser_->header_limit(max_header_bytes);
  parser_->body_limit(context_->options.max_body_bytes);
  stream_.expires_after(context_->options.keep_alive);
  http::async_read_header(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](beast::error_code error, std::size_t) { self->on_header(error); });
}

void Session::on_header(beast::error_code error) {
  if (closed_) return;
  if (error) return on_bad_request(error);
  if (beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
    enqueue("HTTP/1.1 100 Continue\r\n\r\n");
  }
  read_body();
}

void Session::read_body() {
  if (!writing_.empty()) {  // the "100 Continue" goes first: both would set the stream's timer
    return;
  }
  stream_.expires_after(context_->options.body_timeout);
  http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](beast::error_code error, std::size_t) {
    if (self->closed_) return;
    error ? self->on_bad_request(error) : self->dispatch();
  });
}

void Session::dispatch() {
  const auto message = parser_->release();
  HttpRequest request;
  request.method = std::string(view(message.method_string()));
  const std::string_view target = view(message.target());
  request.path = std::string(target.substr(0, target.find('?')));
  request.body = message.body();
  request.request_id = std::string(view(message["X-Request-Id"]));
  if (request.request_id.size() > 256 || !is_printable(request.request_id)) request.request_id.clear();

  request_id_ = request.request_id;
  head_only_ = request.method == "HEAD";
  chunked_ = message.version() >= 11;
  keep_alive_ = message.keep_alive();
  current_ = ++exchanges_;
  ++context_->active_exchanges;
  const auto exchange = std::make_shared<SessionExchange>(context_, weak_from_this(), current_);
  exchange_ = exchange;
  watch_client();
  context_->handler(std::move(request), exchange);
}

void Session::on_bad_request(beast::error_code error) {
  int status = 400;
  if (error == http::error::body_limit) status = 413;
  if (error == http::error::header_limit) status = 431;
  const bool client_left = error == http::error::end_of_stream || error == http::error::partial_message;
  if (client_left || error.category() != make_error_code(http::error::bad_method).category()) return close();
  request_id_.clear();
  head_only_ = false;
  keep_alive_ = false;
  answer_complete_ = true;
  const std::string reason = status == 413
                                 ? fmt::format("the body is larger than {} bytes", context_->options.max_body_bytes)
                                 : "not an HTTP request: " + error.message();
  write_response(error_response(ApiError(status, reason)));
}

void Session::watch_client() {
  watching_ = true;
  stream_.expires_never();
  stream_.async_read_some(
      buffer_.prepare(4096),
      [self = shared_from_this()](beast::error_code error, std::size_t bytes) { self->on_watch(error, bytes); });
}

void Session::on_watch(beast::error_code error, std::size_t bytes) {
  watching_ = false;
  if (closed_) return;
  buffer_.commit(bytes);
  const bool cancelled = error == asio::error::operation_aborted;
  if (error && !cancelled) return close();
  if (closing_) return drain_input();
  if (current_ == 0 && !answer_complete_) return read_header();
  if (!cancelled && buffer_.size() < max_read_ahead_bytes) watch_client();
}

void Session::respond(std::uint64_t exchange, const HttpResponse& response) {
  if (exchange != current_) return;
  keep_alive_ = keep_alive_ && context_->keep_alive;
  end_exchange();
  answer_complete_ = true;
  write_response(response);
}

void Session::write_response(const HttpResponse& response) {
  std::string bytes =
      fmt::format("HTTP/1.1 {} {}\r\nServer: wavetune\r\nContent-Type: {}\r\nContent-Length: {}\r\n", response.status,
                  reason_of(response.status), response.content_type, response.body.size());
  for (const auto& [name, value] : response.headers) bytes += fmt::format("{}: {}\r\n", name, value);
  if (!request_id_.empty()) bytes += fmt::format("X-Request-Id: {}\r\n", request_id_);
  bytes += keep_alive_ ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  if (!head_only_) bytes += response.body;
  enqueue(std::move(bytes));
}

void Session::start_stream(std::uint64_t exchange, const std::string& content_type) {
  if (exchange != current_) return;
  keep_alive_ = keep_alive_ && context_->keep_alive && chunked_;
  std::string bytes = fmt::format(
      "HTTP/1.1 200 OK\r\nServer: wavetune\r\nContent-Type: {}\r\nCache-Control: no-cache\r\n", content_type);
  if (chunked_) bytes += "Transfer-Encoding: chunked\r\n";
  if (!request_id_.empty()) bytes += fmt::format("X-Request-Id: {}\r\n", request_id_);
  bytes += keep_alive_ ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  enqueue(std::move(bytes));
}

void Session::send(std::uint64_t exchange, const std::string& bytes) {
  if (exchange != current_ || bytes.empty()) return;
  enqueue(chunked_ ? fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes) : bytes);
}

void Session::finish(std::uint64_t exchange) {
  if (exchange != current_) return;
  end_exchange();
  answer_complete_ = true;
  enqueue(chunked_ ? "0\r\n\r\n" : "");
}

void Session::drop(std::uint64_t exchange) {
  if (exchange == current_) close();
}

void Session::end_exchange() {
  current_ = 0;
  --context_->active_exchanges;
  if (const auto exchange = exchange_.lock()) exchange->completed();
  exchange_.reset();
}

void Session::enqueue(std::string bytes) {
  queued_bytes_ += bytes.size();
  outgoing_.push_back(std::move(bytes));
  if (queued_bytes_ > max_queued_bytes) return close();
  write_queued();
}

void Session::write_queued() {
  if (!writing_.empty() || outgoing_.empty()) return;
  writing_.swap(outgoing_);
  std::vector<asio::const_buffer> buffers;
  buffers.reserve(writing_.size());
  for (const std::string& bytes : writing_) buffers.emplace_back(bytes.data(), bytes.size());
  stream_.expires_after(context_->options.body_timeout);
  asio::async_write(stream_, buffers,
                    [self = shared_from_this()](beast::error_code error, std::size_t) { self->on_written(error); });
}

void Session::on_written(beast::error_code error) {
  if (closed_) return;
  if (error) return close();
  for (const std::string& bytes : writing_) queued_bytes_ -= bytes.size();
  writing_.clear();
  if (!outgoing_.empty()) return write_queued();
  if (answer_complete_) return next_request();
  if (current_ == 0) read_body();  // "100 Continue" has been written
}

void Session::next_request() {
  answer_complete_ = false;
  if (!keep_alive_) return close_gently();
  // The watching read has no time limit: it gives way to one that has.
  watching_ ? stream_.cancel() : read_header();
}

void Session::close_gently() {
  closing_ = true;
  beast::error_code ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  drain_until_ = std::chrono::steady_clock::now() + drain_time;
  watching_ ? stream_.cancel() : drain_input();
}

void Session::drain_input() {
  buffer_.clear();
  stream_.expires_at(drain_until_);
  stream_.async_read_some(buffer_.prepare(64 << 10), [self = shared_from_this()](beast::error_code error, std::size_t) {
    if (self->closed_) return;
    error ? self->close() : self->drain_input();
  });
}

}  // namespace wavetune::server
