#include "db/transfer/aiter_winners.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "db/base/csv.h"
#include "db/database.h"
#include "db/transfer/aiter_formats.h"
#include "db/transfer/aiter_table.h"

namespace wavetune::db {
namespace {

enum class Columns { bf16, a8w8, a8w8_blockscale, a4w4_blockscale };

/// Where gemm winners of a number format go.
struct GemmTable {
  std::string_view dtype, name;
  Columns columns;
  double value_bytes = 2;  ///< of an element of either factor
};
constexpr GemmTable gemm_tables[] = {{"bf16", "bf16_tuned_gemm", Columns::bf16, 2},
                                     {"bf16_f32", "bf16_tuned_gemm", Columns::bf16, 2},
                                     {"fp8_token", "a8w8_bpreshuffle_tuned_gemm", Columns::a8w8, 1},
                                     {"fp8_block", "a8w8_blockscale_tuned_gemm", Columns::a8w8_blockscale, 1},
                                     {"mxfp4", "a4w4_blockscale_tuned_gemm", Columns::a4w4_blockscale, 0.5}};

constexpr std::string_view moe_name = "tuned_fmoe";
constexpr std::string_view moe_header =
    "gfx,cu_num,token,model_dim,inter_dim,expert,topk,act_type,dtype,q_dtype_a,q_dtype_w,q_type,use_g1u1,"
    "doweight_stage1,block_m,ksplit,us1,kernelName1,err1,us2,kernelName2,err2,us,run_1stage,xbf16,flat,tflops,bw,_tag";

std::string_view header_of(Columns columns) {
  switch (columns) {
    case Columns::bf16:
      return "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio,"
             "tflops,bw";
    case Columns::a8w8:
      return "gfx,cu_num,M,N,K,q_dtype_w,libtype,kernelId,splitK,us,kernelName,tflops,bw,errRatio";
    case Columns::a8w8_blockscale:
      return "gfx,cu_num,M,N,K,libtype,kernelId,splitK,us,kernelName,tflops,bw,errRatio";
    case Columns::a4w4_blockscale:
      return "gfx,cu_num,M,N,K,kernelId,splitK,us,kernelName,tflops,bw,errRatio";
  }
  return {};
}

std::string kernel_of(const Trial& trial) { return csv_cell(std::string(own_kernel) + to_text(trial.config)); }

std::int64_t split_of(const Trial& trial) {
  const auto split = trial.config.find("split_k");
  return split != trial.config.end() && split->second > 1 ? split->second : 0;
}

bool within_tolerance(const Trial& trial) { return trial.max_error <= 1; }

/// Operations or bytes in so many microseconds, as 1e12 or 1e9 in a second.
std::string tera(double amount, double us) { return fmt::format("{:.2f}", amount / us / 1e6); }
std::string giga(double amount, double us) { return fmt::format("{:.2f}", amount / us / 1e3); }

std::string gemm_row(const GemmTable& table, const StoredTrial& winner) {
  const Trial& trial = winner.trial;
  const Problem& problem = trial.problem;
  const auto m = static_cast<double>(problem.dim("m"));
  const auto n = static_cast<double>(problem.dim("n"));
  const auto k = static_cast<double>(problem.dim("k"));
  const std::string start =
      fmt::format("{},{},{},{},{}", csv_cell(winner.environment.arch), winner.environment.cu_count, problem.dim("m"),
                  problem.dim("n"), problem.dim("k"));
  const std::string kernel = fmt::format("-1,{},{:.4f},{}", split_of(trial), trial.median_us, kernel_of(trial));
  const std::string speed = tera(2 * m * n * k, trial.median_us) + ',' +
                            giga((m * k + n * k) * table.value_bytes + m * n * 2, trial.median_us);
  const std::string_view error = within_tolerance(trial) ? "0.0" : "";
  switch (table.columns) {
    case Columns::bf16:
      return fmt::format("{},False,torch.bfloat16,torch.{},False,False,wavetune,{},{},{}", start,
                         problem.dtype == "bf16" ? "bfloat16" : "float32", kernel, error, speed);
    case Columns::a8w8:
      return fmt::format("{},torch.float8_e4m3fn,wavetune,{},{},{}", start, kernel, speed, error);
    case Columns::a8w8_blockscale:
      return fmt::format("{},wavetune,{},{},{}", start, kernel, speed, error);
    case Columns::a4w4_blockscale:
      return fmt::format("{},{},{},{}", start, kernel, speed, error);
  }
  return {};
}

double value_bytes(std::string_view torch_type) {
  return torch_type == "torch.bfloat16" ? 2 : torch_type.starts_with("torch.float4") ? 0.5 : 1;
}

std::string moe_row(const AiterQuantisation& q, const Environment& environment, const Trial& gate_up,
                    const Trial& down) {
  const Problem& problem = gate_up.problem;
  const auto m = static_cast<double>(problem.dim("m"));
  const auto topk = static_cast<double>(problem.dim("topk"));
  const auto experts = static_cast<double>(problem.dim("experts"));
  const auto inter = static_cast<double>(problem.dim("n"));
  const auto model = static_cast<double>(problem.dim("k"));
  const double us = gate_up.median_us + down.median_us;
  const double bytes =
      m * model * value_bytes(q.activations) + 3 * inter * model * value_bytes(q.weights) * experts + m * model * 2;
  const auto block_m = gate_up.config.find("bm");
  const auto error = [](const Trial& trial) { return within_tolerance(trial) ? "0.0%" : ""; };
  return fmt::format(
      "{},{},{},{},{},{},{},ActivationType.Silu,torch.bfloat16,{},{},{},1,0,{},{},{:.4f},{},{},{:.4f},{},{},{:.4f},0,0,"
      "0,{},{},",
      csv_cell(environment.arch), environment.cu_count, problem.dim("m"), problem.dim("k"), problem.dim("n"),
      problem.dim("experts"), problem.dim("topk"), q.activations, q.weights, q.type,
      block_m == gate_up.config.end() ? 0 : block_m->second, split_of(gate_up), gate_up.median_us, kernel_of(gate_up),
      error(gate_up), down.median_us, kernel_of(down), error(down), us, tera(6 * m * topk * model * inter, us),
      giga(bytes, us));
}

/// The rows of all tables, the fastest of each place.
class Collector {
 public:
  void add(std::string_view table, std::string_view header, const Environment& environment, const Problem& problem,
           double us, std::string row) {
    const Place place{table, problem, environment.arch, environment.cu_count};
    const auto [at, is_new] = rows_.try_emplace(place, Timed{us, header, row});
    if (!is_new && us < at->second.us) at->second = {us, header, std::move(row)};
  }

  std::vector<WinnerTable> tables() const {
    std::vector<WinnerTable> tables;
    for (const auto& [place, timed] : rows_) {
      if (tables.empty() || tables.back().name != std::get<0>(place)) {
        tables.push_back({std::string(std::get<0>(place)), std::string(timed.header), {}});
      }
      tables.back().rows.push_back(timed.row);
    }
    return tables;
  }

 private:
  using Place = std::tuple<std::string_view, Problem, std::string, int>;
  struct Timed {
    double us = 0;
    std::string_view header;
    std::string row;
  };
  std::map<Place, Timed> rows_;
};

const GemmTable* gemm_table_of(const Problem& problem) {
  if (problem.op != "gemm" || problem.dim_or("batch", 1) != 1) return nullptr;
  const auto* const found = std::find_if(std::begin(gemm_tables), std::end(gemm_tables),
                                         [&problem](const GemmTable& table) { return table.dtype == problem.dtype; });
  return found == std::end(gemm_tables) ? nullptr : found;
}

/// The other half of a pair: from the product with SwiGLU to the one after it.
Problem down_of(const Problem& gate_up) {
  Problem down = gate_up;
  down.dims["n"] = gate_up.dim("k");
  down.dims["k"] = gate_up.dim("n");
  down.dims["swiglu"] = 0;
  return down;
}

}  // namespace

WinnerTables winner_tables(const std::vector<StoredTrial>& winners) {
  Collector collector;
  std::map<std::pair<Environment, Problem>, const Trial*> grouped;
  std::size_t written = 0;
  for (const StoredTrial& winner : winners) {
    const Problem& problem = winner.trial.problem;
    if (const GemmTable* const table = gemm_table_of(problem)) {
      collector.add(table->name, header_of(table->columns), winner.environment, problem, winner.trial.median_us,
                    gemm_row(*table, winner));
      ++written;
    } else if (problem.op == "grouped_gemm") {
      grouped.emplace(std::pair(winner.environment, problem), &winner.trial);
    }
  }
  for (const auto& [key, gate_up] : grouped) {
    const auto& [environment, problem] = key;
    const auto columns = moe_columns(problem.dtype);
    if (!columns || problem.dim_or("swiglu", 0) != 1) continue;
    const auto down = grouped.find(std::pair(environment, down_of(problem)));
    if (down == grouped.end()) continue;
    collector.add(moe_name, moe_header, environment, problem, gate_up->median_us + down->second->median_us,
                  moe_row(*columns, environment, *gate_up, *down->second));
    written += 2;
  }
  return {collector.tables(), winners.size() - written};
}

}  // namespace wavetune::db
