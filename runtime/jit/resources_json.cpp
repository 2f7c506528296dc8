#include "runtime/jit/resources_json.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace wavetune::jit {
namespace {

constexpr std::pair<const char*, std::optional<int> db::Resources::*> fields[] = {
    {"vgpr", &db::Resources::vgpr},
    {"agpr", &db::Resources::agpr},
    {"sgpr", &db::Resources::sgpr},
    {"lds_bytes", &db::Resources::lds_bytes},
    {"scratch_bytes", &db::Resources::scratch_bytes},
    {"spills", &db::Resources::spills},
    {"occupancy", &db::Resources::occupancy}};

}  // namespace

nlohmann::json resources_to_json(const db::Resources& resources) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, field] : fields) {
    if (resources.*field) json[name] = *(resources.*field);
  }
  return json;
}

db::Resources resources_from_json(const nlohmann::json& json) {
  db::Resources resources;
  for (const auto& [name, field] : fields) {
    if (const auto found = json.find(name); found != json.end() && found->is_number_integer())
      resources.*field = found->get<int>();
  }
  return resources;
}

}  // namespace wavetune::jit
