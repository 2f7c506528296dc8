#include "runtime/server/serve_command.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <csignal>
#include <iostream>
#include <utility>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "model/config.h"
#include "runtime/engine/engine_factory.h"
#include "runtime/server/api_server.h"

namespace wavetune {
namespace po = boost::program_options;
namespace {

struct ServeOptions {
  engine::EngineOptions engine;
  server::ApiOptions api;
  std::string model_name;  ///< empty: the model folder's name
  double drain_seconds = 30;
};

engine::Graphs parse_graphs(const std::string& text) {
  if (text == "auto") return engine::Graphs::automatic;
  if (text == "on") return engine::Graphs::on;
  if (text == "off") return engine::Graphs::off;
  fail(ErrorKind::usage, "serve: --graphs '{}' must be auto, on or off", text);
}

/// Options that are parsed further before they are ones.
struct RawOptions {
  std::string drain, database, graphs;
  int port = 0;
};

po::options_description describe(ServeOptions& options, RawOptions& raw) {
  engine::EngineOptions& engine = options.engine;
  po::options_description model("Model and kernels");
  model.add_options()("model", po::value(&engine.model_directory)->required(),
                      "folder with config.json, weights and tokenizer")(
      "db", po::value(&raw.database),
      "tuning database, or a frozen bundle or JSON export of one; otherwise the tuned set that comes with wavetune for "
      "the device, and "
      "default configurations where there is none")("device", po::value(&engine.device)->default_value(engine.device),
                                                    "auto, hip, cuda or cpu, with :N for N devices")(
      "require-tuned", po::bool_switch(&engine.require_tuned), "refuse to start when a shape would run untuned")(
      "graphs", po::value(&raw.graphs)->default_value("auto"),
      "replay steps from graphs, without host work between kernels: on, off, or auto (on GPUs, and on one CPU device)");
  po::options_description layout("Layout (otherwise as stored in the database)");
  layout.add_options()("tp", po::value(&engine.tp), "tensor-parallel degree")("dp", po::value(&engine.dp), "replicas");
  po::options_description limits("Limits");
  limits.add_options()("max-context", po::value(&engine.max_context), "tokens of one sequence, prompt and answer")(
      "max-sequences", po::value(&engine.max_sequences)->default_value(engine.max_sequences),
      "sequences in a replica's batch")("max-step-tokens",
                                        po::value(&engine.max_step_tokens)->default_value(engine.max_step_tokens),
                                        "tokens of one step: decoding and pieces of prompts")(
      "cache-tokens", po::value(&engine.cache_tokens), "capacity of a replica's cache; otherwise what fits in memory");
  po::options_description http("Network");
  http.add_options()("host", po::value(&options.api.http.host)->default_value(options.api.http.host),
                     "address to listen on")("port", po::value(&raw.port)->default_value(8000),
                                             "port; 0: any free one")(
      "served-model-name", po::value(&options.model_name), "the name that clients use; otherwise the model folder's")(
      "drain", po::value(&raw.drain)->default_value("30s"),
      "how long requests under way may take after SIGINT or SIGTERM");
  po::options_description all;
  all.add(model).add(layout).add(limits).add(http);
  return all;
}

/// A degree or limit that is given must be positive; 0 stands for "not given" in EngineOptions.
void check_given(const po::variables_map& values) {
  for (const char* name : {"tp", "dp"}) {
    if (values.count(name) != 0 && values[name].as<int>() < 1) {
      fail(ErrorKind::usage, "serve: --{} {} must be at least 1", name, values[name].as<int>());
    }
  }
  for (const char* name : {"max-context", "max-sequences", "max-step-tokens", "cache-tokens"}) {
    if (values.count(name) != 0 && values[name].as<std::int64_t>() < 1) {
      fail(ErrorKind::usage, "serve: --{} {} must be at least 1", name, values[name].as<std::int64_t>());
    }
  }
}

void print_start(const engine::CreatedEngine& created, const server::ModelCard& card) {
  std::cout << fmt::format("serving {} on {}\n", card.id, created.device_name)
            << fmt::format("layout: {}\n", created.layout.description)
            << fmt::format("kernels: {} ({})\n", created.coverage.summary(),
                           created.tuning.empty() ? "no database, and no tuned set for this device" : created.tuning)
            << fmt::format("decode: {}, {}\n", created.decode_launches.summary(),
                           created.graphs ? "replayed from a graph" : "launched kernel by kernel")
            << fmt::format("context: {} tokens a sequence, {} tokens of cache a replica\n", card.max_model_len,
                           created.cache_tokens);
}

std::int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// After it has returned, a second signal ends the process at once.
void wait_for_signal() {
  boost::asio::io_context io;
  boost::asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([](const boost::system::error_code&, int) {});
  io.run();
}

}  // namespace

int serve_command(const std::vector<std::string>& args) {
  ServeOptions options;
  RawOptions raw;
  po::options_description described = describe(options, raw);
  const CommandHelp help{
      "serve",
      "serve --model DIR [--db FILE] [options]",
      "Serves a model over the OpenAI API (/v1/models, /v1/completions, /v1/chat/completions, /health, /metrics)\n"
      "with the kernels and the layout that the database holds.",
      {"wavetune serve --model GLM-5.2 --db tune.db",
       "wavetune serve --model model/demo --db tune.db --device cpu --port 0",
       "curl http://127.0.0.1:8000/v1/chat/completions -d '{\"messages\": [{\"role\": \"user\", \"content\": "
       "\"Hello\"}]}'"}};
  po::variables_map values;
  if (!parse_command_line(help, described, {}, args, values)) return 0;
  check_given(values);
  if (raw.port < 0 || raw.port > 65535)
    fail(ErrorKind::usage, "serve: --port {} must lie between 0 and 65535", raw.port);
  options.api.http.port = static_cast<std::uint16_t>(raw.port);
  options.drain_seconds = parse_duration_seconds(raw.drain, "--drain");
  options.engine.graphs = parse_graphs(raw.graphs);
  if (!raw.database.empty()) options.engine.database = raw.database;

  // What fails quickly comes first: a wrong folder or a port that is taken should not show after minutes of loading
  // weights.
  model::load_config(options.engine.model_directory);
  server::ApiServer api(options.api);
  auto tokenizer = std::make_shared<const model::Tokenizer>(model::Tokenizer::load(options.engine.model_directory));
  engine::CreatedEngine created = engine::create_engine(options.engine);

  server::ServedModel model;
  model.card.id = options.model_name.empty() ? created.config.name : options.model_name;
  model.card.root = std::filesystem::absolute(options.engine.model_directory).lexically_normal().string();
  model.card.created = unix_seconds();
  model.card.max_model_len = created.engine->max_context();
  model.tokenizer = std::move(tokenizer);
  model.engine = std::move(created.engine);
  print_start(created, model.card);
  api.serve(std::move(model));
  std::cout << fmt::format("listening on {}\n", api.url()) << std::flush;
  wait_for_signal();
  std::cout << "shutting down: waiting for the requests under way\n" << std::flush;
  api.shut_down(std::chrono::milliseconds(static_cast<std::int64_t>(options.drain_seconds * 1000)));
  return 0;
}

}  // namespace wavetune
