#include "db/transfer/aiter_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>

#include "db/base/csv.h"
#include "db/base/error.h"
#include "db/transfer/aiter_formats.h"

namespace wavetune::db {
namespace {

using Cells = std::vector<std::string>;

constexpr std::string_view gemm_columns[] = {"gfx", "cu_num", "M", "N", "K", "kernelName", "us"};
constexpr std::string_view moe_needed[] = {"cu_num",      "token",     "model_dim", "inter_dim",   "expert",
                                           "topk",        "q_dtype_a", "q_dtype_w", "q_type",      "use_g1u1",
                                           "kernelName1", "us1",       "us2",       "kernelName2", "us"};

std::string_view without_mark(std::string_view text) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  return text;
}

/// Takes a line off the front of `text`, without its end.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

class Row {
 public:
  Row(const Cells& columns, const Cells& cells) : columns_(columns), cells_(cells) {}

  bool has(std::string_view column) const {
    return std::find(columns_.begin(), columns_.end(), column) != columns_.end();
  }
  const std::string& text(std::string_view column) const {
    const auto at = static_cast<std::size_t>(std::find(columns_.begin(), columns_.end(), column) - columns_.begin());
    if (at >= cells_.size() || cells_[at].empty()) fail(ErrorKind::bad_data, "{} is missing", column);
    return cells_[at];
  }
  /// From 1 to the largest int.
  std::int64_t count(std::string_view column) const {
    const auto value = number<std::int64_t>(column, "a whole number");
    if (value < 1 || value > std::numeric_limits<int>::max()) {
      fail(ErrorKind::bad_data, "{} is {}, which cannot be", column, value);
    }
    return value;
  }
  double time(std::string_view column) const {
    const auto value = number<double>(column, "a number");
    if (!(std::isfinite(value) && value > 0)) {
      fail(ErrorKind::bad_data, "{} is {}: no time was measured", column, text(column));
    }
    return value;
  }

 private:
  template <class Number>
  Number number(std::string_view column, std::string_view kind) const {
    const std::string& word = text(column);
    Number value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size()) {
      fail(ErrorKind::bad_data, "{} is '{}', not {}", column, word, kind);
    }
    return value;
  }

  const Cells& columns_;
  const Cells& cells_;
};

std::string known_or_fail(const std::optional<std::string>& dtype, const std::string& words) {
  if (!dtype) fail(ErrorKind::bad_data, "{}: no number format that is known", words);
  return *dtype;
}

std::string gemm_dtype(AiterTable table, const Row& row) {
  if (table == AiterTable::a4w4_blockscale_gemm) return "mxfp4";
  if (table == AiterTable::a8w8_blockscale_gemm) return "fp8_block";
  if (table == AiterTable::a8w8_gemm) {
    const std::string& weights = row.text("q_dtype_w");
    return known_or_fail(operand_dtype(weights, "QuantType.per_Token"), "q_dtype_w " + weights);
  }
  const std::string &in = row.text("dtype"), &out = row.text("outdtype"), &bias = row.text("bias");
  return known_or_fail(dtype_of_dense(in, out, bias), fmt::format("dtype {}, outdtype {}, bias {}", in, out, bias));
}

Problem gemm_problem(AiterTable table, const Row& row) {
  return {"gemm",
          gemm_dtype(table, row),
          {{"batch", 1}, {"k", row.count("K")}, {"m", row.count("M")}, {"n", row.count("N")}}};
}

Problem moe_problem(const Row& row) {
  const AiterQuantisation q{row.text("q_dtype_a"), row.text("q_dtype_w"), row.text("q_type")};
  if (row.text("use_g1u1") != "1") {
    fail(ErrorKind::bad_data, "use_g1u1 is {}: only experts with a gate are known", row.text("use_g1u1"));
  }
  return {"fused_moe",
          known_or_fail(dtype_of_moe(q),
                        fmt::format("q_dtype_a {}, q_dtype_w {}, q_type {}", q.activations, q.weights, q.type)),
          {{"experts", row.count("expert")},
           {"k", row.count("model_dim")},
           {"m", row.count("token")},
           {"n", row.count("inter_dim")},
           {"topk", row.count("topk")}}};
}

/// Of tables from before the column gfx: aiter/jit/utils/chip_info.py, _LEGACY_CU_NUM_TO_GFX.
std::string arch_of(const Row& row, std::int64_t cu_count) {
  if (row.has("gfx")) return row.text("gfx");
  if (cu_count == 256) return "gfx950";
  if (cu_count == 80 || cu_count == 304) return "gfx942";
  fail(ErrorKind::bad_data, "there is no column gfx, and cu_num {} does not tell it", cu_count);
}

std::string moe_kernel(const Row& row, const std::string& first) {
  // One kernel may do both stages.
  if (row.has("run_1stage") && row.text("run_1stage") == "1") return first;
  return first + " + " + row.text("kernelName2");
}

PublishedTime published_of(AiterTable table, const Row& row) {
  const bool moe = table == AiterTable::fused_moe;
  PublishedTime published;
  published.implementation = aiter;
  published.kernel = row.text(moe ? "kernelName1" : "kernelName");
  if (moe) published.kernel = moe_kernel(row, published.kernel);
  const std::int64_t cu_count = row.count("cu_num");
  published.cu_count = static_cast<int>(cu_count);
  published.arch = arch_of(row, cu_count);
  published.problem = moe ? moe_problem(row) : gemm_problem(table, row);
  published.us = row.time("us");
  return published;
}

PublishedTime read_row(AiterTable table, const Cells& columns, std::string_view line) {
  const auto cells = csv_fields(line);
  if (!cells) fail(ErrorKind::bad_data, "a quote is not closed");
  const bool without_tag = columns.back() == "_tag" && cells->size() + 1 == columns.size();
  if (cells->size() != columns.size() && !without_tag) {
    fail(ErrorKind::bad_data, "has {} fields, the header {}", cells->size(), columns.size());
  }
  return published_of(table, Row(columns, *cells));
}

}  // namespace

std::optional<AiterTable> aiter_table(std::string_view header) {
  const auto columns = csv_fields(header);
  if (!columns) return std::nullopt;
  const auto has = [&columns](std::string_view column) {
    return std::find(columns->begin(), columns->end(), column) != columns->end();
  };
  if (std::all_of(std::begin(moe_needed), std::end(moe_needed), has)) return AiterTable::fused_moe;
  // Of products with a batch the columns do not tell the number format.
  if (!std::all_of(std::begin(gemm_columns), std::end(gemm_columns), has) || has("B")) return std::nullopt;
  if (has("dtype") && has("outdtype") && has("bias")) return AiterTable::bf16_gemm;
  if (has("q_dtype_w")) return AiterTable::a8w8_gemm;
  return has("libtype") ? AiterTable::a8w8_blockscale_gemm : AiterTable::a4w4_blockscale_gemm;
}

std::string aiter_table_names() {
  return "bf16, a8w8, a8w8 blockscale and a4w4 blockscale GEMM (gfx,cu_num,M,N,K,...,us) and fused MoE "
         "(cu_num,token,model_dim,...,us)";
}

AiterRows read_aiter_table(std::string_view text, const std::string& name) {
  text = without_mark(text);
  const std::string header(take_line(text));
  const auto table = aiter_table(header);
  if (!table) {
    constexpr std::size_t most_shown = 80;
    fail(ErrorKind::bad_data, "{}: not a table that is known: its first columns are '{}{}'; known are AITER's tuned {}",
         name, header.substr(0, most_shown), header.size() > most_shown ? "..." : "", aiter_table_names());
  }
  const Cells columns = *csv_fields(header);
  const std::string origin = std::filesystem::path(name).filename().string();
  AiterRows result;
  for (std::size_t number = 2; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (line.empty()) continue;
    try {
      PublishedTime row = read_row(*table, columns, line);
      if (row.kernel.starts_with(own_kernel)) {
        ++result.own;
        continue;
      }
      row.header = header;
      row.line = line;
      row.origin = origin;
      result.rows.push_back(std::move(row));
    } catch (const Error& error) {
      result.unread.push_back({number, error.what()});
    }
  }
  return result;
}

}  // namespace wavetune::db
