// The HTTP side: framing, limits, keep-alive, routes, shutdown.
#include <thread>

#include "db/base/error.h"
#include "server_fixture.h"

namespace wavetune::server {
namespace {

using testing::HasSubstr;

class HttpTest : public ServerTest {};

TEST_F(HttpTest, HealthModelsAndMetrics) {
  Client client(server.port());
  EXPECT_EQ(client.get("/health").status, 200);
  const json models = json::parse(client.get("/v1/models").body);
  EXPECT_EQ(models["object"], "list");
  const json card = models["data"][0];
  EXPECT_EQ(card["id"], "demo");
  EXPECT_EQ(card["object"], "model");
  EXPECT_EQ(card["created"], 1'700'000'000);
  EXPECT_EQ(card["root"], "/models/demo");
  EXPECT_TRUE(card["parent"].is_null());
  EXPECT_EQ(card["max_model_len"], 1000);
  EXPECT_EQ(json::parse(client.get("/v1/models/demo").body)["id"], "demo");
  EXPECT_EQ(client.get("/v1/models/other").status, 404);
}

TEST_F(HttpTest, MetricsInPrometheusFormat) {
  say("Hello");
  EXPECT_EQ(complete({{"max_tokens", 5}}).status, 200);
  Client client(server.port());
  std::string text;
  // The engine's numbers come with its next snapshot.
  for (int i = 0;
       i < 100 && text.find("vllm:num_requests_running{model_name=\"demo\",engine=\"0\"} 3\n") == std::string::npos;
       ++i) {
    const ClientResponse response = client.get("/metrics");
    EXPECT_EQ(response.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    text = response.body;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  for (const char* line : {"vllm:num_requests_running{model_name=\"demo\",engine=\"0\"} 3\n",
                           "# TYPE vllm:generation_tokens_total counter\n",
                           "vllm:generation_tokens_total{model_name=\"demo\",engine=\"0\"} 1234\n",
                           "vllm:request_success_total{model_name=\"demo\",engine=\"0\",finished_reason=\"stop\"} 1\n",
                           "vllm:time_to_first_token_seconds_bucket{model_name=\"demo\",engine=\"0\",le=\"+Inf\"} 1\n",
                           "vllm:e2e_request_latency_seconds_count{model_name=\"demo\",engine=\"0\"} 1\n",
                           "wavetune:kernel_shapes{model_name=\"demo\",engine=\"0\",match=\"nearest\"} 5\n",
                           "wavetune:kernel_shapes{model_name=\"demo\",engine=\"0\",match=\"exact\"} 2\n",
                           "wavetune:kernel_shapes{model_name=\"demo\",engine=\"0\",match=\"bucket\"} 3\n",
                           "wavetune:kernel_shapes{model_name=\"demo\",engine=\"0\",match=\"fallback\"} 7\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(HttpTest, StuckEngineDoesNotStopHealthAndMetrics) {
  engine->stats_hang = true;
  Client client(server.port());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(client.get("/health").status, 200);
    EXPECT_EQ(client.get("/metrics").status, 200);
  }
  engine->stats_hang = false;
}

TEST_F(HttpTest, UnknownPathsAndMethods) {
  Client client(server.port());
  for (const char* path : {"/", "/v1", "/v1/chat", "/health/x", "/v1/models/"}) {
    const ClientResponse response = client.get(path);
    EXPECT_EQ(response.status, 404) << path;
    EXPECT_THAT(json::parse(response.body)["error"]["message"].get<std::string>(),
                HasSubstr(path == std::string("/v1/models/") ? "model" : path));
  }
  const ClientResponse get = client.get("/v1/chat/completions");
  EXPECT_EQ(get.status, 405);
  EXPECT_EQ(get.headers.at("allow"), "POST");
  const ClientResponse post = client.post("/health", "");
  EXPECT_EQ(post.status, 405);
  EXPECT_EQ(post.headers.at("allow"), "GET, HEAD");
  EXPECT_EQ(client.get("/health?probe=1").status, 200);
}

TEST_F(HttpTest, HeadHasNoBody) {
  Client client(server.port());
  client.send("HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  const ClientResponse head = client.receive(false);
  EXPECT_EQ(head.status, 200);
  EXPECT_GT(std::stoi(head.headers.at("content-length")), 100);
  EXPECT_EQ(client.get("/health").status, 200) << "the connection goes on";
}

TEST_F(HttpTest, RequestIdIsEchoed) {
  say("x");
  Client client(server.port());
  EXPECT_EQ(client.get("/health", "X-Request-Id: abc-123\r\n").headers.at("x-request-id"), "abc-123");
  EXPECT_FALSE(client.get("/health").headers.contains("x-request-id"));
  const ClientResponse stream =
      client.post("/v1/completions", R"({"prompt": "a", "stream": true})", "X-Request-Id: s1\r\n");
  EXPECT_EQ(stream.headers.at("x-request-id"), "s1");
}

TEST_F(HttpTest, GarbageIsABadRequest) {
  for (const char* bytes :
       {"garbage\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\x16\x03\x01\x02",
        "GET /health HTTP/1.1\r\nno colon\r\n\r\n", "POST /v1/completions HTTP/1.1\r\nContent-Length: many\r\n\r\n"}) {
    Client client(server.port());
    client.send(std::string(bytes) + "\r\n\r\n");
    const ClientResponse response = client.receive();
    EXPECT_EQ(response.status, 400) << bytes;
    EXPECT_EQ(response.headers.at("connection"), "close");
    EXPECT_EQ(json::parse(response.body)["error"]["code"], 400);
  }
  Client client(server.port());
  client.send("GET /health HTTP/1.1\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n");
  EXPECT_EQ(client.receive().status, 431);
  EXPECT_EQ(Client(server.port()).get("/health").status, 200) << "the server goes on";
}

TEST_F(HttpTest, UnfinishedRequestsAndSilentClientsDoNoHarm) {
  for (const char* bytes : {"", "POST /v1/completions HTTP/1.1\r\nContent-Length: 100\r\n\r\n{", "GET /hea"}) {
    Client(server.port()).send(bytes);
  }
  EXPECT_EQ(Client(server.port()).get("/health").status, 200);
}

TEST_F(HttpTest, PipelinedRequestsAreAnsweredInOrder) {
  say("Hello");
  Client client(server.port());
  const std::string body = R"({"prompt": "a", "max_tokens": 3})";
  client.send("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
              "\r\n\r\n" + body + "GET /health HTTP/1.1\r\nHost: x\r\n\r\nGET /nothing HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_EQ(client.receive().body, R"({"status":"ok"})");
  EXPECT_EQ(client.receive().status, 404);
}

TEST_F(HttpTest, ExpectContinue) {
  say("Hello");
  Client client(server.port());
  const std::string body = R"({"prompt": "a"})";
  client.send("POST /v1/completions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n");
  EXPECT_EQ(client.receive(false).status, 100);
  client.send(body);
  EXPECT_EQ(client.receive().status, 200);
}

TEST_F(HttpTest, OldHttpStreamEndsWithTheConnection) {
  say("Hello");
  Client client(server.port());
  const std::string body = R"({"prompt": "a", "stream": true})";
  client.send("POST /v1/completions HTTP/1.0\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  const std::string answer = client.read_to_end();
  EXPECT_THAT(answer, Not(HasSubstr("chunked")));
  EXPECT_THAT(answer, testing::EndsWith("data: [DONE]\n\n"));
}

TEST_F(HttpTest, ConnectionCloseIsHonoured) {
  Client client(server.port());
  EXPECT_EQ(client.get("/health", "Connection: close\r\n").headers.at("connection"), "close");
  EXPECT_EQ(client.read_to_end(), "");
}

TEST_F(HttpTest, FiftyKeepAliveConnections) {
  say("Hello there, how are you?");
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 50; ++i) {
    threads.emplace_back([&, i] {
      Client client(server.port());
      for (int round = 0; round < 5; ++round) {
        const bool stream = (i + round) % 2 == 0;
        const json body = {{"prompt", "Hi"}, {"stream", stream}, {"max_tokens", 50}};
        const ClientResponse response = client.post("/v1/completions", body.dump());
        std::string text;
        if (stream) {
          for (const std::string& event : events_of(response.body)) {
            if (event != "[DONE]") text += json::parse(event)["choices"][0]["text"].get<std::string>();
          }
        } else if (response.status == 200) {
          text = json::parse(response.body)["choices"][0]["text"];
        }
        if (text == "Hello there, how are you?") ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 250);
}

class SmallBodyTest : public ServerTest {
 protected:
  static ApiOptions options() {
    ApiOptions small = default_options();
    small.http.max_body_bytes = 1000;
    return small;
  }
  SmallBodyTest() : ServerTest(options()) {}
};

TEST_F(SmallBodyTest, LargeBodyIs413) {
  const ClientResponse response = Client(server.port()).post("/v1/completions", std::string(5'000'000, ' '));
  EXPECT_EQ(response.status, 413);
  EXPECT_THAT(json::parse(response.body)["error"]["message"].get<std::string>(), HasSubstr("1000"));
  Client chunked(server.port());
  chunked.send("POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n800\r\n" + std::string(0x800, ' ') +
               "\r\n0\r\n\r\n");
  EXPECT_EQ(chunked.receive().status, 413);
}

class StartingTest : public ServerTest {
 protected:
  void SetUp() override {}
};

TEST_F(StartingTest, NotReadyIs503) {
  Client client(server.port());
  EXPECT_EQ(client.get("/health").status, 503);
  EXPECT_EQ(client.get("/v1/models").status, 503);
  EXPECT_EQ(client.get("/metrics").status, 200);
  EXPECT_EQ(client.post("/v1/completions", "{}").status, 503);
  make_ready();
  EXPECT_EQ(client.get("/health").status, 200);
}

TEST_F(HttpTest, DrainLetsRequestsFinish) {
  say("a b c d e f g h");
  engine->held = true;  // however slow this machine is, the request is under way when the server drains
  Client busy(server.port());
  const std::string body = R"({"prompt": "a", "max_tokens": 100})";
  busy.send("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
            body);
  while (engine->submitted().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  Client other(server.port());
  EXPECT_EQ(other.get("/health").status, 200);
  std::thread shutdown([this] { server.shut_down(std::chrono::seconds(20)); });
  ClientResponse health;
  do {
    health = other.get("/health");
  } while (health.status == 200);
  EXPECT_EQ(health.status, 503);
  EXPECT_EQ(health.headers["connection"], "close");
  engine->held = false;
  const ClientResponse answer = busy.receive();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(json::parse(answer.body)["choices"][0]["text"], "a b c d e f g h");
  shutdown.join();
  EXPECT_THROW(Client(server.port()), std::exception);
}

TEST_F(HttpTest, DrainEndsAtItsLimit) {
  engine->set_script({{{1}, engine::FinishReason::none, -1, ""}}, std::chrono::milliseconds(1));
  Client busy(server.port());
  const std::string body = R"({"prompt": "a", "max_tokens": 100})";
  busy.send("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
            body);
  while (engine->submitted().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  server.shut_down(std::chrono::milliseconds(50));
  EXPECT_TRUE(engine->wait_for_cancelled(1));
  EXPECT_EQ(busy.receive().status, 0);
}

TEST_F(HttpTest, PortInUse) {
  ApiOptions options;
  options.http.port = server.port();
  try {
    ApiServer second(options);
    FAIL() << "a second server took the port";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_THAT(error.what(), HasSubstr(std::to_string(server.port())));
    EXPECT_THAT(error.what(), HasSubstr("--port"));
  }
  options.http.port = 0;
  options.http.host = "not a host";
  EXPECT_THROW(ApiServer{options}, Error);
  options.http.host = "203.0.113.7";
  EXPECT_THROW(ApiServer{options}, Error);
}

}  // namespace
}  // namespace wavetune::server
