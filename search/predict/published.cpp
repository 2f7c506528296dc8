#include "search/predict/published.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <sstream>

#include "db/base/csv.h"
#include "db/base/error.h"
#include "db/base/file.h"

namespace wavetune::predict {
namespace {

class Table {
 public:
  explicit Table(const std::filesystem::path& csv) : name_(csv.filename().string()), text_(read_file(csv)) {
    std::getline(text_, line_);
    if (!split(header_)) fail(ErrorKind::bad_data, "{}: the header has a quote that is not closed", name_);
  }

  bool has(const std::string& column) const {
    return std::find(header_.begin(), header_.end(), column) != header_.end();
  }
  bool next() {
    while (std::getline(text_, line_)) {
      ++row_;
      if (!split(fields_)) fail(ErrorKind::bad_data, "{}: row {} has a quote that is not closed", name_, row_);
      if (!fields_.empty()) return true;
    }
    return false;
  }
  double number(const std::string& column) const {
    const auto at = static_cast<std::size_t>(std::find(header_.begin(), header_.end(), column) - header_.begin());
    double value = 0;
    if (at < fields_.size()) {
      const std::string& text = fields_[at];
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error == std::errc{} && end == text.data() + text.size()) return value;
    }
    fail(ErrorKind::bad_data, "{}: row {} has no number in column {}", name_, row_, column);
  }

 private:
  bool split(std::vector<std::string>& cells) {
    if (line_.ends_with('\r')) line_.pop_back();
    auto found = csv_fields(line_);
    if (found) cells = std::move(*found);
    return found.has_value();
  }

  std::string name_;
  std::istringstream text_;
  std::string line_;
  std::vector<std::string> header_, fields_;
  int row_ = 1;
};

/// Ranks from 0, equal values share the mean of theirs.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t j = i;
    while (j + 1 < order.size() && values[order[j + 1]] == values[order[i]]) ++j;
    for (std::size_t at = i; at <= j; ++at) ranks[order[at]] = static_cast<double>(i + j) / 2;
    i = j + 1;
  }
  return ranks;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double mean_a = mean(a), mean_b = mean(b);
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

}  // namespace

NumberFormat format_of_table(const std::string& name) {
  const auto has = [&name](std::string_view word) { return name.find(word) != std::string::npos; };
  if (has("bf16")) return NumberFormat::bf16;
  if (has("fp4") || has("a4w4")) return NumberFormat::mxfp4;
  if (has("mxfp8")) return NumberFormat::mxfp8;
  return has("blockscale") ? NumberFormat::fp8_block : NumberFormat::fp8_token;
}

std::vector<PublishedTime> read_published(const std::filesystem::path& csv) {
  const NumberFormat format = format_of_table(csv.filename().string());
  Table table(csv);
  const bool moe = table.has("token");
  std::vector<PublishedTime> rows;
  while (table.next()) {
    PublishedTime row;
    row.moe = moe;
    row.us = table.number("us");
    if (!(row.us > 0) || !std::isfinite(row.us)) continue;
    if (moe) {
      // The shared expert is one of `expert`, fused: every token visits it.
      row.fused = {format,
                   table.number("token"),
                   table.number("model_dim"),
                   table.number("inter_dim"),
                   table.number("expert") - 1,
                   table.number("topk") - 1,
                   1};
      row.key = fmt::format("{},{},{}", row.fused.tokens, row.fused.hidden, row.fused.inter);
    } else {
      row.gemm = {format, table.number("M"), table.number("N"), table.number("K"), 1};
      row.key = fmt::format("{},{},{}", row.gemm.m, row.gemm.n, row.gemm.k);
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) fail(ErrorKind::bad_data, "{}: holds no row with a time", csv.string());
  return rows;
}

bool held_out(const PublishedTime& row) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : row.key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return (hash >> 20 & 1) != 0;
}

double predicted_us(const Machine& machine, const PublishedTime& row) {
  return row.moe ? best_moe(machine, row.fused).us() : best_gemm(machine, row.gemm).prediction.us;
}

double roofline_plus_3us(const PublishedTime& row) {
  const NumberFormat format = row.moe ? row.fused.format : row.gemm.format;
  const double peak = format == NumberFormat::bf16 ? 2.3e9 : format == NumberFormat::mxfp4 ? 9.2e9 : 4.6e9;
  double flops = 0, bytes = 0;
  if (row.moe) {
    const MoeShape& s = row.fused;
    const double weights = 3 * s.hidden * s.inter;
    flops = 2 * s.tokens * (s.topk + s.shared) * weights;
    bytes = (active_experts(s.experts, s.topk, s.tokens) + s.shared) * weights * weight_bytes(format) +
            s.tokens * s.hidden * 4;
  } else {
    const GemmShape& s = row.gemm;
    flops = 2 * s.m * s.n * s.k;
    bytes = (s.m * activation_bytes(format) + s.n * weight_bytes(format)) * s.k + s.m * s.n * 2;
  }
  return std::max(flops / peak, bytes / 8e6) + 3;
}

Agreement agreement(const std::vector<double>& predicted, const std::vector<double>& published) {
  Agreement result;
  result.rows = predicted.size();
  std::vector<double> logs;
  for (std::size_t i = 0; i < predicted.size(); ++i) logs.push_back(std::log(predicted[i] / published[i]));
  const double center = mean(logs);
  double squares = 0;
  for (const double value : logs) squares += (value - center) * (value - center);
  result.rank_correlation = correlation(ranks_of(predicted), ranks_of(published));
  result.mean_ratio = std::exp(center);
  result.spread = std::exp(std::sqrt(squares / static_cast<double>(std::max<std::size_t>(logs.size(), 2) - 1)));
  return result;
}

}  // namespace wavetune::predict
