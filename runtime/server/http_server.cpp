#include "runtime/server/http_server.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <thread>
#include <utility>

#include "db/base/error.h"
#include "runtime/server/session.h"

namespace wavetune::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

/// Compile and measure processes must not inherit sockets: they would keep the port busy after the server's death.
void close_on_exec(int descriptor) { ::fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

tcp::endpoint resolve(asio::io_context& io, const HttpOptions& options) {
  boost::system::error_code error;
  tcp::resolver resolver(io);
  const auto found = resolver.resolve(options.host, std::to_string(options.port),
                                      tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error || found.empty()) {
    fail(ErrorKind::usage, "--host '{}' is not an address or name of this machine; try 127.0.0.1, or 0.0.0.0 for all",
         options.host);
  }
  return found.begin()->endpoint();
}

[[noreturn]] void fail_to_bind(const HttpOptions& options, const boost::system::error_code& error) {
  std::string advice = "check --host and --port";
  if (error == asio::error::address_in_use)
    advice = "stop the program that uses it, or choose another with --port (0: any free one)";
  if (error == asio::error::access_denied) advice = "ports below 1024 need privileges: choose another with --port";
  if (error == boost::system::errc::address_not_available) advice = "--host must be an address of this machine";
  fail(ErrorKind::io, "cannot listen on {} port {}: {}; {}", options.host, options.port, error.message(), advice);
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(const HttpOptions& options, HttpHandler handler) : context_(std::make_shared<SessionContext>()) {
    context_->options = options;
    context_->handler = std::move(handler);
    listen();
    accept();
    thread_ = std::thread([this] { run(); });
  }

  ~Impl() { close(); }

  tcp::endpoint local() const { return local_; }
  SessionContext& context() { return *context_; }

  void close() {
    if (!thread_.joinable()) return;
    asio::post(context_->io, [this] {
      boost::system::error_code ignored;
      acceptor_.close(ignored);
      retry_.cancel();
      while (!context_->sessions.empty()) {
        const std::shared_ptr<Session> session = *context_->sessions.begin();
        session->close();
      }
      work_.reset();
    });
    thread_.join();
    // What was posted after the loop's end only looks for sessions; there are none.
    context_->handler = nullptr;
  }

 private:
  void listen() {
    const tcp::endpoint endpoint = resolve(context_->io, context_->options);
    boost::system::error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) close_on_exec(acceptor_.native_handle());
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) fail_to_bind(context_->options, error);
    local_ = acceptor_.local_endpoint();
  }

  void accept() {
    acceptor_.async_accept([this](boost::system::error_code error, tcp::socket socket) {
      if (!acceptor_.is_open()) return;
      if (!error) {
        close_on_exec(socket.native_handle());
        std::make_shared<Session>(std::move(socket), context_)->start();
        return accept();
      }
      // Out of descriptors, or the client has gone again: a pause keeps this from spinning.
      spdlog::warn("cannot accept a connection: {}", error.message());
      retry_.expires_after(std::chrono::milliseconds(100));
      retry_.async_wait([this](boost::system::error_code cancelled) {
        if (!cancelled && acceptor_.is_open()) accept();
      });
    });
  }

  void run() {
    for (;;) {
      try {
        context_->io.run();
        return;
      } catch (const std::exception& error) {
        spdlog::error("HTTP server: {}; going on", error.what());
      }
    }
  }

  std::shared_ptr<SessionContext> context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_->io.get_executor()};
  tcp::acceptor acceptor_{context_->io};
  asio::steady_timer retry_{context_->io};
  tcp::endpoint local_;
  std::thread thread_;
};

HttpServer::HttpServer(const HttpOptions& options, HttpHandler handler)
    : impl_(std::make_unique<Impl>(options, std::move(handler))) {}

HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const { return impl_->local().port(); }

std::string HttpServer::url() const {
  const auto address = impl_->local().address();
  const std::string host = address.is_v6() ? "[" + address.to_string() + "]" : address.to_string();
  return fmt::format("http://{}:{}", host, port());
}

std::int64_t HttpServer::active_exchanges() const { return impl_->context().active_exchanges; }

void HttpServer::stop_keep_alive() { impl_->context().keep_alive = false; }

void HttpServer::close() { impl_->close(); }

}  // namespace wavetune::server
