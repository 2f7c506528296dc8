#include "db/transfer/bundle.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <tuple>

#include "db/base/error.h"
#include "db/base/file.h"
#include "db/base/gzip.h"
#include "db/base/hash.h"
#include "db/json_reader.h"
#include "db/layout_json.h"

namespace wavetune::db {
namespace {

using nlohmann::json;

constexpr std::string_view magic = "wavetune-bundle ";
constexpr std::size_t hash_digits = 32;

// The resources of a winner by name; a null member of them says nothing.
constexpr std::pair<const char*, std::optional<int> Resources::*> resource_members[] = {
    {"vgpr", &Resources::vgpr},
    {"agpr", &Resources::agpr},
    {"sgpr", &Resources::sgpr},
    {"lds_bytes", &Resources::lds_bytes},
    {"scratch_bytes", &Resources::scratch_bytes},
    {"spills", &Resources::spills},
    {"occupancy", &Resources::occupancy}};

std::string head_of_version(int version) { return fmt::format("{}{}\n", magic, version); }

json to_json(const Winner& winner) {
  json resources = json::object();
  for (const auto& [name, member] : resource_members) {
    if (winner.resources.*member) resources[name] = *(winner.resources.*member);
  }
  return {{"problem", winner.problem.key()},
          {"config", to_text(winner.config)},
          {"median_us", winner.median_us},
          {"source_hash", winner.source_hash},
          {"resources", std::move(resources)}};
}

json to_json(const Layout& layout) {
  return {{"model_id", layout.model_id},
          {"model_name", layout.model_name},
          {"devices", layout.devices},
          {"objective", to_string(layout.objective)},
          {"tp", layout.tp},
          {"dp", layout.dp},
          {"created_at", layout.created_at},
          {"table", rows_to_json(layout.table)}};
}

json manifest_of(const Bundle& bundle) {
  const Environment& made = bundle.environment;
  json manifest = {{"environment",
                    {{"device", made.device},
                     {"arch", made.arch},
                     {"cu_count", made.cu_count},
                     {"driver", made.driver},
                     {"compiler", made.compiler},
                     {"compiler_version", made.compiler_version}}},
                   {"winners", json::array()},
                   {"layouts", json::array()},
                   {"code", json::array()}};
  for (const Winner& winner : bundle.winners) manifest["winners"].push_back(to_json(winner));
  for (const Layout& layout : bundle.layouts) manifest["layouts"].push_back(to_json(layout));
  for (const auto& [key, code] : bundle.code) manifest["code"].push_back({{"key", key}, {"bytes", code.size()}});
  return manifest;
}

Winner read_winner(const JsonReader& from) {
  Winner winner;
  winner.problem = problem_from_key(from.at("problem").text());
  winner.config = named_ints_from_text(from.at("config").text());
  winner.median_us = from.at("median_us").number();
  winner.source_hash = from.at("source_hash").text();
  const JsonReader resources = from.at("resources");
  for (const auto& [name, member] : resource_members) {
    if (const auto value = resources.find(name)) winner.resources.*member = value->small_integer();
  }
  return winner;
}

Layout read_layout(const JsonReader& from) {
  Layout layout;
  layout.model_id = from.at("model_id").text();
  layout.model_name = from.at("model_name").text();
  layout.devices = from.at("devices").small_integer();
  const JsonReader objective = from.at("objective");
  const auto known = objective_from_string(objective.text());
  if (!known) objective.fail_here("must be throughput or latency");
  layout.objective = *known;
  layout.tp = from.at("tp").small_integer();
  layout.dp = from.at("dp").small_integer();
  layout.created_at = from.at("created_at").text();
  layout.table = rows_from_json(from.at("table"));
  return layout;
}

Bundle read_manifest(const JsonReader& manifest, std::string_view code) {
  Bundle bundle;
  const JsonReader made = manifest.at("environment");
  bundle.environment = {made.at("device").text(), made.at("arch").text(),     made.at("cu_count").small_integer(),
                        made.at("driver").text(), made.at("compiler").text(), made.at("compiler_version").text()};
  for (const JsonReader& winner : manifest.at("winners").elements()) bundle.winners.push_back(read_winner(winner));
  for (const JsonReader& layout : manifest.at("layouts").elements()) bundle.layouts.push_back(read_layout(layout));
  for (const JsonReader& object : manifest.at("code").elements()) {
    const JsonReader bytes = object.at("bytes");
    const std::int64_t count = bytes.integer();
    if (count < 0 || static_cast<std::size_t>(count) > code.size()) bytes.fail_here("is more than the file has");
    const auto* begin = reinterpret_cast<const std::byte*>(code.data());
    bundle.code.emplace(object.at("key").text(), std::vector<std::byte>(begin, begin + count));
    code.remove_prefix(static_cast<std::size_t>(count));
  }
  return bundle;
}

/// What follows the two lines of the head. Says what is wrong with the head otherwise.
std::string_view checked_payload(std::string_view bytes) {
  const std::string head = head_of_version(bundle_format_version);
  const std::size_t line = bytes.substr(0, 64).find('\n');
  if (!bytes.starts_with(magic) || line == std::string_view::npos) fail(ErrorKind::bad_data, "is no bundle");
  if (!bytes.starts_with(head)) {
    fail(ErrorKind::incompatible, "has bundle format '{}', this wavetune reads {}; use the wavetune that wrote it",
         bytes.substr(magic.size(), line - magic.size()), bundle_format_version);
  }
  if (bytes.size() <= head.size() + hash_digits) fail(ErrorKind::bad_data, "ends within its first lines");
  const std::string_view payload = bytes.substr(head.size() + hash_digits + 1);
  const std::string found = content_hash(payload);
  if (const std::string stated = bundle_hash(bytes); found != stated || bytes[head.size() + hash_digits] != '\n') {
    fail(ErrorKind::bad_data,
         "the content's hash is {}, the file states {}: it was changed or cut off after the export; copy it again",
         found, stated);
  }
  return payload;
}

Bundle unpack(std::string_view bytes, const std::string& name) {
  const std::string body = gunzip(checked_payload(bytes), name);
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), length);
  const auto begin = static_cast<std::size_t>(end - body.data()) + 1;
  if (error != std::errc{} || begin > body.size() || length > body.size() - begin)
    fail(ErrorKind::bad_data, "the length of its manifest is wrong");
  const std::string_view rest = std::string_view(body).substr(begin);
  try {
    const json manifest = json::parse(rest.substr(0, length));
    Bundle bundle = read_manifest(JsonReader(manifest, ""), rest.substr(length));
    bundle.hash = bundle_hash(bytes);
    return bundle;
  } catch (const json::exception& broken) {
    fail(ErrorKind::bad_data, "its manifest is not JSON: {}", broken.what());
  }
}

}  // namespace

std::string pack_bundle(Bundle bundle) {
  std::ranges::sort(bundle.winners, {}, &Winner::problem);
  std::ranges::sort(bundle.layouts, {}, [](const Layout& layout) {
    return std::tuple(layout.model_id, layout.devices, layout.objective, layout.created_at, layout.tp, layout.dp);
  });
  const std::string manifest = manifest_of(bundle).dump(-1, ' ', false, json::error_handler_t::replace);
  std::string body = fmt::format("{}\n{}", manifest.size(), manifest);
  for (const auto& [key, code] : bundle.code) body.append(reinterpret_cast<const char*>(code.data()), code.size());
  const std::string payload = gzip(body);
  return head_of_version(bundle_format_version) + content_hash(payload) + "\n" + payload;
}

std::string bundle_hash(std::string_view packed) {
  const std::size_t line = packed.find('\n');
  return line == std::string_view::npos ? "" : std::string(packed.substr(line + 1, hash_digits));
}

bool is_bundle(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string begin(magic.size(), '\0');
  return in.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == magic;
}

Bundle read_bundle(const std::filesystem::path& file) {
  try {
    return unpack(read_file(file), file.string());
  } catch (const Error& error) {
    const std::string text = error.what();
    if (text.find(file.string()) != std::string::npos) throw;
    throw Error(error.kind(), fmt::format("{}: {}", file.string(), text));
  }
}

}  // namespace wavetune::db
