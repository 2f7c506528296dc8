#include "runtime/engine/tuning_source.h"

#include <algorithm>
#include <utility>

#include "runtime/kernels/tuned_set.h"

namespace wavetune::engine {
namespace {

TuningSource from_set(kernels::TunedSet set, const std::string& device, const std::string& model_id, int devices) {
  TuningSource source{.winners = kernels::WinnerIndex(nullptr, {}), .layout = {}, .code = {}, .description = {}};
  source.description = set.description(device);
  for (db::Layout& layout : set.layouts) {
    if (layout.model_id != model_id || layout.devices != devices) continue;
    if (!source.layout || source.layout->created_at < layout.created_at) source.layout = std::move(layout);
  }
  source.winners = kernels::WinnerIndex(std::move(set.winners));
  return source;
}

}  // namespace

TuningSource open_tuning(const std::optional<std::filesystem::path>& file, const db::Environment& environment,
                         const std::string& model_id, int devices) {
  if (!file) {
    if (auto set = kernels::find_tuned_set(environment)) {
      return from_set(std::move(*set), environment.device, model_id, devices);
    }
    return {kernels::WinnerIndex(nullptr, environment), {}, {}, {}};
  }
  if (kernels::is_export(*file)) {
    return from_set(kernels::read_tuned_set(*file, environment), environment.device, model_id, devices);
  }
  auto database = std::make_shared<const db::Database>(db::Database::open(*file, db::OpenMode::read_only));
  return {kernels::WinnerIndex(database.get(), environment), database->latest_layout(environment, model_id, devices),
          [database](const std::string& key) { return database->code(key); }, file->string()};
}

}  // namespace wavetune::engine
