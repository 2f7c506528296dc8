// A server with a fake engine behind it, on a free port.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "client.h"
#include "fake_engine.h"
#include "runtime/server/api_server.h"

namespace wavetune::server {

using nlohmann::json;

class ServerTest : public testing::Test {
 protected:
  static ApiOptions default_options() {
    ApiOptions options;
    options.http.port = 0;
    return options;
  }

  explicit ServerTest(const ApiOptions& options = default_options()) : server(options) {}

  void SetUp() override { make_ready(); }

  void make_ready() {
    ServedModel model;
    model.card = {"demo", "/models/demo", 1'700'000'000, engine->max_context()};
    model.tokenizer = tokenizer;
    model.engine = engine;
    server.serve(std::move(model));
  }

  static std::shared_ptr<const model::Tokenizer> load_tokenizer() {
    static const auto loaded =
        std::make_shared<const model::Tokenizer>(model::Tokenizer::load(WAVETUNE_SOURCE_DIR "/model/demo"));
    return loaded;
  }

  void say(const std::string& text, engine::FinishReason finish = engine::FinishReason::stop) {
    engine->set_script(script_of(*tokenizer, text, finish));
  }

  std::int64_t token_count(const std::string& text) const {
    return static_cast<std::int64_t>(tokenizer->encode(text, model::AddedTokensIn::recognised).size());
  }

  ClientResponse post(const std::string& path, const json& body) {
    return Client(server.port()).post(path, body.dump());
  }
  ClientResponse chat(json body) {
    if (!body.contains("messages")) body["messages"] = {{{"role", "user"}, {"content", "Hi"}}};
    return post("/v1/chat/completions", body);
  }
  ClientResponse complete(json body) {
    if (!body.contains("prompt")) body["prompt"] = "Hi";
    return post("/v1/completions", body);
  }

  std::shared_ptr<const model::Tokenizer> tokenizer = load_tokenizer();
  std::shared_ptr<FakeEngine> engine = std::make_shared<FakeEngine>();
  ApiServer server;
};

}  // namespace wavetune::server
