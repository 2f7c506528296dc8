#include "runtime/engine/tuning_source.h"

#include <spdlog/spdlog.h>

#include <map>
#include <utility>

#include "db/base/error.h"
#include "db/transfer/bundle.h"
#include "runtime/kernels/tuned_set.h"
#include "templates/registry.h"

namespace wavetune::engine {
namespace {

std::optional<db::Layout> newest_layout(const std::vector<db::Layout>& layouts, const std::string& model_id,
                                        int devices) {
  std::optional<db::Layout> newest;
  for (const db::Layout& layout : layouts) {
    if (layout.model_id != model_id || layout.devices != devices) continue;
    if (!newest || newest->created_at < layout.created_at) newest = layout;
  }
  return newest;
}

TuningSource from_set(kernels::TunedSet set, const std::string& device, const std::string& model_id, int devices) {
  return {.winners = kernels::WinnerIndex(std::move(set.winners)),
          .layout = newest_layout(set.layouts, model_id, devices),
          .code = {},
          .description = set.description(device)};
}

/// Winners of operators that this executable does not have are left out; of the others, `stale` counts those that were
/// made with other sources.
std::vector<db::Winner> usable_winners(const db::Bundle& bundle, std::int64_t& stale) {
  std::map<std::string, std::string> hashes;
  std::vector<db::Winner> winners;
  for (const db::Winner& winner : bundle.winners) {
    const templates::Operator* const op = templates::find_operator(winner.problem.op);
    if (op == nullptr) continue;
    const auto [hash, added] = hashes.try_emplace(winner.problem.op);
    if (added) hash->second = templates::source_hash(*op);
    stale += winner.source_hash == hash->second ? 0 : 1;
    winners.push_back(winner);
  }
  return winners;
}

TuningSource from_bundle(const std::filesystem::path& file, const db::Environment& environment,
                         const std::string& model_id, int devices) {
  const auto bundle = std::make_shared<const db::Bundle>(db::read_bundle(file));
  const db::Environment& made = bundle->environment;
  if (made.arch != environment.arch) {
    fail(ErrorKind::incompatible,
         "{}: the bundle is for {} ({}), this device is {} ({}); export one from a database that was tuned here",
         file.string(), made.arch, made.device, environment.arch, environment.device);
  }
  TuningSource source{.winners = kernels::WinnerIndex(nullptr, {}),
                      .layout = newest_layout(bundle->layouts, model_id, devices),
                      .code = {},
                      .description = {}};
  source.winners = kernels::WinnerIndex(usable_winners(*bundle, source.stale));
  source.description = fmt::format("{}: frozen bundle {}, {} winners for {}", file.string(), bundle->hash,
                                   bundle->winners.size(), made.device);
  if (made.device != environment.device || made.cu_count != environment.cu_count) {
    spdlog::warn("{} was tuned on {} with {} compute units, this is {} with {}: other choices may be faster here",
                 file.string(), made.device, made.cu_count, environment.device, environment.cu_count);
  }
  if (source.stale > 0) {
    source.description += fmt::format(", {} of them of other kernel sources", source.stale);
    spdlog::warn(
        "{}: {} winners were made with other kernel sources than this wavetune's: their code is not used, "
        "their configurations are compiled anew",
        file.string(), source.stale);
  }
  source.code = [bundle](const jit::CompileRequest& request,
                         const jit::CompileService&) -> std::optional<std::vector<std::byte>> {
    const auto found = bundle->code.find(jit::program_key(request));
    if (found == bundle->code.end()) return std::nullopt;
    return found->second;
  };
  return source;
}

}  // namespace

TuningSource open_tuning(const std::optional<std::filesystem::path>& file, const db::Environment& environment,
                         const std::string& model_id, int devices) {
  if (!file) {
    if (auto set = kernels::find_tuned_set(environment)) {
      return from_set(std::move(*set), environment.device, model_id, devices);
    }
    return {kernels::WinnerIndex(nullptr, environment), {}, {}, {}, 0};
  }
  if (db::is_bundle(*file)) return from_bundle(*file, environment, model_id, devices);
  if (kernels::is_export(*file)) {
    return from_set(kernels::read_tuned_set(*file, environment), environment.device, model_id, devices);
  }
  auto database = std::make_shared<const db::Database>(db::Database::open(*file, db::OpenMode::read_only));
  return {kernels::WinnerIndex(database.get(), environment), database->latest_layout(environment, model_id, devices),
          [database](const jit::CompileRequest& request, const jit::CompileService& compiler) {
            return database->code(compiler.key(request));
          },
          file->string(), 0};
}

}  // namespace wavetune::engine
