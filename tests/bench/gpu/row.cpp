#include "row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "db/commands/table.h"

namespace wavetune::gpu_bench {
namespace {

/// Calls that read so much are held against the roofline; smaller ones mostly wait.
constexpr double large_bytes = 16e6;

bool has_mxfp4_weights(const Row& row) { return row.problem.dtype.ends_with("mxfp4"); }

/// m = 1 .. 64: bytes decide; beyond 512: arithmetic does.
std::string range_of(std::int64_t m) { return m <= 64 ? "1..64" : m <= 512 ? "65..512" : ">512"; }

/// Collects positive figures and which row has the least.
struct Figures {
  int count = 0;
  double log_sum = 0;
  double least = 0;
  const Row* least_row = nullptr;
  void add(double value, const Row& row) {
    if (least_row == nullptr || value < least) {
      least = value;
      least_row = &row;
    }
    log_sum += std::log(value);
    ++count;
  }
  double mean() const { return std::exp(log_sum / count); }
};

std::string where(const Figures& figures) {
  return fmt::format("{} m={}", figures.least_row->shape(), figures.least_row->problem.dim("m"));
}

struct Group {
  Figures ratio, share;
};

std::string groups_text(const std::vector<Row>& rows) {
  std::map<std::tuple<std::string, std::string, std::string>, Group> groups;
  for (const Row& row : rows) {
    Group& group = groups[{row.problem.op, row.problem.dtype, range_of(row.problem.dim("m"))}];
    group.share.add(row.share(), row);
    if (const auto ratio = row.ratio()) group.ratio.add(*ratio, row);
  }
  db::Table table({{"operator"},
                   {"format"},
                   {"m"},
                   {"shapes", db::Align::right},
                   {"peer/ours", db::Align::right},
                   {"least", db::Align::right},
                   {"at"},
                   {"of roofline", db::Align::right},
                   {"least", db::Align::right},
                   {"at"}});
  for (const auto& [key, group] : groups) {
    const auto& [op, dtype, range] = key;
    const bool compared = group.ratio.count > 0;
    table.add({op, dtype, range, std::to_string(group.share.count),
               compared ? fmt::format("{:.2f}x", group.ratio.mean()) : "-",
               compared ? fmt::format("{:.2f}x", group.ratio.least) : "-", compared ? where(group.ratio) : "-",
               fmt::format("{:.0f} %", 100 * group.share.mean()), fmt::format("{:.0f} %", 100 * group.share.least),
               where(group.share)});
  }
  return "geometric means\n" + table.text("  ");
}

/// Products with MXFP4 weights: shares of the byte time for large calls, what small ones take beyond theirs, and how
/// much faster than bf16 of the same shape they are at m = 1.
std::string mxfp4_text(const std::vector<Row>& rows) {
  Figures at_one, from_eight, gain;
  const Row* latest = nullptr;
  const auto excess = [](const Row& row) { return row.ours_us - row.byte_us; };
  for (const Row& row : rows) {
    const std::int64_t m = row.problem.dim("m");
    if (!has_mxfp4_weights(row) || m > 64) continue;
    if (row.needed_bytes < large_bytes) {
      if (latest == nullptr || excess(row) > excess(*latest)) latest = &row;
      continue;
    }
    if (m == 1) at_one.add(row.byte_us / row.ours_us, row);
    if (m >= 8) from_eight.add(row.byte_us / row.ours_us, row);
    if (m != 1) continue;
    db::Problem in_bf16 = row.problem;
    in_bf16.dtype = "bf16";
    const auto other = std::ranges::find(rows, in_bf16, &Row::problem);
    if (other != rows.end()) gain.add(other->ours_us / row.ours_us, row);
  }
  std::string text;
  const auto share = [&](const char* what, const Figures& figures) {
    if (figures.count == 0) return;
    text += fmt::format("  {}: {:.0f} % of the byte time on average, least {:.0f} % ({} {})\n", what,
                        100 * figures.mean(), 100 * figures.least, figures.least_row->problem.dtype, where(figures));
  };
  share("calls of 16 MB and more, m = 1", at_one);
  share("calls of 16 MB and more, m = 8..64", from_eight);
  if (latest != nullptr) {
    text += fmt::format("  smaller calls: at most {:.2f} us beyond their byte time ({} {} m={})\n", excess(*latest),
                        latest->problem.dtype, latest->shape(), latest->problem.dim("m"));
  }
  if (gain.count > 0) {
    text += fmt::format("  against bf16 at m = 1, calls of 16 MB and more: {:.2f}x on average, least {:.2f}x ({})\n",
                        gain.mean(), gain.least, where(gain));
  }
  return text.empty() ? text : "MXFP4 weights\n" + text;
}

}  // namespace

std::string Row::shape() const {
  if (problem.op == "gemm") {
    const std::string batch = problem.dim("batch") > 1 ? fmt::format("{} x ", problem.dim("batch")) : "";
    return fmt::format("{}{} x {}", batch, problem.dim("n"), problem.dim("k"));
  }
  if (problem.op == "grouped_gemm") {
    return fmt::format("{} of {} x {}{} x {}", problem.dim("topk"), problem.dim("experts"),
                       problem.dim("swiglu") != 0 ? "2 x " : "", problem.dim("n"), problem.dim("k"));
  }
  if (problem.op == "mla_attention") {
    return fmt::format("{} heads, {} of {} tokens", problem.dim("heads"), problem.dim("topk"), problem.dim("slots"));
  }
  std::string text;
  for (const auto& [name, value] : problem.dims) {
    if (name != "m") text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
  }
  return text;
}

std::string header() {
  return fmt::format("{:<13} {:<11} {:<28} {:>5} {:>9} {:>8} {:>9} {:>5} {:>7} {:>9} {:>7}  {}\n", "operator", "format",
                     "shape", "m", "MB", "ours us", "roofline", "by", "share", "peer us", "ratio", "peer");
}

std::string line(const Row& row) {
  const auto ratio = row.ratio();
  return fmt::format("{:<13} {:<11} {:<28} {:>5} {:>9.2f} {:>8.2f} {:>9.2f} {:>5} {:>6.1f}% {:>9} {:>7}  {}\n",
                     row.problem.op, row.problem.dtype, row.shape(), row.problem.dim("m"), row.needed_bytes / 1e6,
                     row.ours_us, row.roofline_us(), row.byte_us >= row.flop_us ? "bytes" : "flops", 100 * row.share(),
                     row.peer_us ? fmt::format("{:.2f}", *row.peer_us) : "-",
                     ratio ? fmt::format("{:.2f}x", *ratio) : "-", row.peer_name);
}

nlohmann::json to_json(const Row& row) {
  nlohmann::json json{{"problem", row.problem.key()}, {"bytes", row.needed_bytes}, {"flops", row.flops},
                      {"ours_us", row.ours_us},       {"byte_us", row.byte_us},    {"flop_us", row.flop_us},
                      {"peer", row.peer_name}};
  if (row.peer_us) json["peer_us"] = *row.peer_us;
  return json;
}

std::string summary(const std::vector<Row>& rows) { return groups_text(rows) + mxfp4_text(rows); }

}  // namespace wavetune::gpu_bench
