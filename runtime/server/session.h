// One connection: reads a request, lets it be answered, reads the next. Everything runs on the socket thread.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "runtime/server/http_server.h"

namespace wavetune::server {

class Session;
class SessionExchange;

/// What all connections of a server share. Exchanges hold it, so that they may outlive the server.
struct SessionContext {
  HttpOptions options;
  HttpHandler handler;
  boost::asio::io_context io{1};
  std::atomic<std::int64_t> active_exchanges{0};
  std::atomic<bool> keep_alive{true};
  std::set<std::shared_ptr<Session>> sessions;  ///< open ones, which live here; socket thread only
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(boost::asio::ip::tcp::socket socket, std::shared_ptr<SessionContext> context);

  void start();
  /// Ends the connection now; a request that is being answered learns that its client has gone.
  void close();

  // The exchange's calls, on the socket thread. `exchange` says which: those of an earlier request do nothing.
  void respond(std::uint64_t exchange, const HttpResponse& response);
  void start_stream(std::uint64_t exchange, const std::string& content_type);
  void send(std::uint64_t exchange, const std::string& bytes);
  void finish(std::uint64_t exchange);
  /// The exchange was destroyed.
  void drop(std::uint64_t exchange);

 private:
  void read_header();
  void on_header(boost::beast::error_code error);
  void read_body();
  void dispatch();
  void on_bad_request(boost::beast::error_code error);
  /// Reads ahead while a request is answered, so that a client that goes away is noticed; what it reads belongs to the
  /// next request.
  void watch_client();
  void on_watch(boost::beast::error_code error, std::size_t bytes);
  void write_response(const HttpResponse& response);
  void enqueue(std::string bytes);
  void write_queued();
  void on_written(boost::beast::error_code error);
  void end_exchange();
  void next_request();
  /// Lets the client read the last answer: input that nobody reads would make the system reset the connection.
  void close_gently();
  void drain_input();

  std::shared_ptr<SessionContext> context_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::weak_ptr<SessionExchange> exchange_;
  std::uint64_t exchanges_ = 0;       ///< started so far: the number of the latest
  std::uint64_t current_ = 0;         ///< the exchange that may write; 0 between requests
  std::deque<std::string> outgoing_;  ///< not yet handed to the socket
  std::deque<std::string> writing_;
  std::size_t queued_bytes_ = 0;
  std::string request_id_;
  std::chrono::steady_clock::time_point drain_until_;
  bool head_only_ = false;        ///< HEAD: headers without body
  bool keep_alive_ = true;        ///< as asked for by the request that is being answered
  bool chunked_ = true;           ///< HTTP/1.0 has no chunks
  bool watching_ = false;         ///< a watching read is under way
  bool answer_complete_ = false;  ///< when all is written, the next request follows
  bool closing_ = false;
  bool closed_ = false;
};

}  // namespace wavetune::server
