#include "db/layout_json.h"

#include <nlohmann/json.hpp>

namespace wavetune::db {

namespace {

/// Rows of databases and exports from before loads were simulated have none.
void read_load(const JsonReader& json, LayoutRow& row) {
  const auto load = json.find("load");
  if (!load) return;
  for (const JsonReader& element : load->elements()) {
    LoadPoint point;
    point.rate = element.at("rate").number();
    point.clients = element.at("clients").small_integer();
    point.tokens_per_s = element.at("tokens_per_s").number();
    point.ttft_p50_s = element.at("ttft_p50_s").number();
    point.ttft_p95_s = element.at("ttft_p95_s").number();
    point.tpot_ms = element.at("tpot_ms").number();
    point.success = element.at("success").number();
    row.load.push_back(point);
  }
  row.knee_rate = json.at("knee_rate").number();
  row.knee_tokens_per_s = json.at("knee_tokens_per_s").number();
  row.saturated_tokens_per_s = json.at("saturated_tokens_per_s").number();
  row.published_share = json.at("published_share").number();
  row.cache_tokens = json.at("cache_tokens").number();
}

}  // namespace

nlohmann::json load_to_json(const std::vector<LoadPoint>& load) {
  nlohmann::json list = nlohmann::json::array();
  for (const LoadPoint& point : load) {
    list.push_back({{"rate", point.rate},
                    {"clients", point.clients},
                    {"tokens_per_s", point.tokens_per_s},
                    {"ttft_p50_s", point.ttft_p50_s},
                    {"ttft_p95_s", point.ttft_p95_s},
                    {"tpot_ms", point.tpot_ms},
                    {"success", point.success}});
  }
  return list;
}

nlohmann::json rows_to_json(const std::vector<LayoutRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const LayoutRow& row : rows) {
    list.push_back({{"tp", row.tp},
                    {"dp", row.dp},
                    {"fits", row.fits},
                    {"reason", row.reason},
                    {"decode_step_us", row.decode_step_us},
                    {"prefill_step_us", row.prefill_step_us},
                    {"decode_batch", row.decode_batch},
                    {"prefill_tokens", row.prefill_tokens},
                    {"all_reduce_us", row.all_reduce_us},
                    {"decode_tokens_per_s", row.decode_tokens_per_s},
                    {"prefill_tokens_per_s", row.prefill_tokens_per_s},
                    {"single_stream_tokens_per_s", row.single_stream_tokens_per_s},
                    {"score", row.score},
                    {"measured_share", row.measured_share},
                    {"estimated", row.estimated},
                    {"memory_bytes_per_device", row.memory_bytes_per_device}});
    if (row.load.empty()) continue;
    list.back().update({{"load", load_to_json(row.load)},
                        {"knee_rate", row.knee_rate},
                        {"knee_tokens_per_s", row.knee_tokens_per_s},
                        {"saturated_tokens_per_s", row.saturated_tokens_per_s},
                        {"published_share", row.published_share},
                        {"cache_tokens", row.cache_tokens}});
  }
  return list;
}

std::vector<LayoutRow> rows_from_json(const JsonReader& json) {
  std::vector<LayoutRow> rows;
  for (const JsonReader& element : json.elements()) {
    LayoutRow row;
    row.tp = element.at("tp").small_integer();
    row.dp = element.at("dp").small_integer();
    row.fits = element.at("fits").boolean();
    row.reason = element.at("reason").text();
    row.decode_step_us = element.at("decode_step_us").number();
    row.prefill_step_us = element.at("prefill_step_us").number();
    row.decode_batch = element.at("decode_batch").small_integer();
    row.prefill_tokens = element.at("prefill_tokens").small_integer();
    row.all_reduce_us = element.at("all_reduce_us").number();
    row.decode_tokens_per_s = element.at("decode_tokens_per_s").number();
    row.prefill_tokens_per_s = element.at("prefill_tokens_per_s").number();
    row.single_stream_tokens_per_s = element.at("single_stream_tokens_per_s").number();
    row.score = element.at("score").number();
    row.measured_share = element.at("measured_share").number();
    for (const JsonReader& key : element.at("estimated").elements()) row.estimated.push_back(key.text());
    row.memory_bytes_per_device = element.at("memory_bytes_per_device").number();
    read_load(element, row);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace wavetune::db
