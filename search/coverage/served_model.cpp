#include "search/coverage/served_model.h"

#include <charconv>

#include "db/base/error.h"
#include "runtime/engine/layout_choice.h"

namespace wavetune::search {
namespace po = boost::program_options;

void add_served_options(po::options_description& options) {
  const engine::EngineOptions defaults;
  options.add_options()("layout", po::value<std::string>(),
                        "TPxDP, e.g. 8x1, or stored (default: as 'serve' without --tp and --dp)")(
      "max-context", po::value<std::int64_t>()->default_value(defaults.max_context),
      "as of 'serve': tokens of one sequence; 0: the model's limit, at most 8192")(
      "max-sequences", po::value<std::int64_t>()->default_value(defaults.max_sequences),
      "as of 'serve': sequences in a replica's batch")(
      "max-step-tokens", po::value<std::int64_t>()->default_value(defaults.max_step_tokens),
      "as of 'serve': tokens of one step");
}

std::pair<int, int> parse_degrees(const std::string& text) {
  const auto refuse = [&] {
    fail(ErrorKind::usage, "--layout '{}' is none; write TPxDP, for example 8x1, or stored", text);
  };
  int degrees[2] = {0, 0};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int& degree : degrees) {
    const auto [next, error] = std::from_chars(at, end, degree);
    const bool last = &degree == &degrees[1];
    if (error != std::errc{} || degree < 1 || (last ? next != end : next == end || *next != 'x')) refuse();
    at = next + 1;
  }
  return {degrees[0], degrees[1]};
}

ServedModel served_model(const po::variables_map& values, const std::string& model, const db::Database& database,
                         const db::Environment& environment, const hip::Provider& provider) {
  ServedModel served;
  served.config = model::resolve_model(model);
  engine::EngineOptions options;
  options.max_context = values["max-context"].as<std::int64_t>();
  options.max_sequences = values["max-sequences"].as<std::int64_t>();
  options.max_step_tokens = values["max-step-tokens"].as<std::int64_t>();
  engine::check_sizes(options);
  const int devices = static_cast<int>(provider.devices().size());
  options.device = values.count("device") != 0 ? values["device"].as<std::string>() : "";
  served.stored = database.latest_layout(environment, served.config.id, devices);
  if (values.count("layout") != 0) {
    const auto wanted = values["layout"].as<std::string>();
    if (wanted != "stored") {
      std::tie(options.tp, options.dp) = parse_degrees(wanted);
    } else if (!served.stored) {
      fail(ErrorKind::not_found,
           "--layout stored: {} has no layout of {} on {} devices; 'wavetune layout' chooses one, or give TPxDP",
           database.path().string(), served.config.name, devices);
    }
  }
  served.layout = engine::choose_layout(options, served.stored, devices);
  // How much cache there is changes no kernel, and the devices' free memory need not be asked for.
  const std::int64_t context = options.max_context > 0 ? options.max_context : served.config.max_position_embeddings;
  options.cache_tokens = options.max_sequences * std::max<std::int64_t>(context, options.page_size);
  served.sizes = engine::size_replica(options, served.config, provider, served.layout);
  return served;
}

}  // namespace wavetune::search
