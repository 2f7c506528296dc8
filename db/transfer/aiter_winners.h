// Our own winners in the columns of AITER's tuned tables, to be compared with AITER's rows.
#pragma once

#include <string>
#include <vector>

#include "db/trial.h"

namespace wavetune::db {

struct StoredTrial;

/// One table: its usual name in aiter/configs, its header, and its rows in order of the problems.
struct WinnerTable {
  std::string name;  ///< "bf16_tuned_gemm"
  std::string header;
  std::vector<std::string> rows;
};

struct WinnerTables {
  std::vector<WinnerTable> tables;  ///< those that have rows
  std::size_t left_out = 0;         ///< winners that no table has columns for
};

/// `winners` are trials that win. What has a table: gemm without batches in bf16, bf16_f32, fp8_token, fp8_block and
/// mxfp4; and grouped_gemm in pairs made in one environment, as a fused MoE: swiglu=1 with n = inter_dim, k = model_dim
/// and swiglu=0 with n = model_dim, k = inter_dim, of equal m, topk and experts (us1, us2 and their sum; the sum over
/// the chosen experts is not part of ours). Of several environments with one architecture and number of compute units
/// the fastest counts.
///
/// The kernel's name is "wavetune:" and the configuration, libtype "wavetune", the kernel's number -1: AITER cannot run
/// it. splitK is that of the configuration, 0 when it is not split. tflops (1e12/s) and bw (1e9 bytes/s) are those of
/// AITER's tuners (base_tuner.py and gemm_moe_tune.py, `calculate`: every expert's weights count, results have two
/// bytes), but an fp4 value counts half a byte everywhere. The share of wrong elements (errRatio) is 0 when the largest
/// error is within the tolerance, which is all that is known; else it is empty.
WinnerTables winner_tables(const std::vector<StoredTrial>& winners);

}  // namespace wavetune::db
