// The tables of tuned kernels that ROCm/aiter publishes: what the model is held against.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "search/predict/moe_model.h"

namespace wavetune::predict {

/// One row: a shape and the time of the fastest kernel known for it.
struct PublishedTime {
  bool moe = false;
  GemmShape gemm;   ///< unless moe
  MoeShape fused;   ///< when moe: the time is that of both stages
  double us = 0;    ///< as published
  std::string key;  ///< "M,N,K" or "tokens,hidden,inter"
};

/// Reads a table (CSV with a header; the columns M, N, K, us or token, model_dim, inter_dim, expert, topk, us count;
/// rows without a time are left out). The file's name tells the format: see format_of_table. Throws Error not_found,
/// bad_data.
std::vector<PublishedTime> read_published(const std::filesystem::path& csv);
/// "bf16" in the name: bf16; "fp4" or "a4w4": mxfp4; "mxfp8": mxfp8; "blockscale": fp8_block; else fp8_token.
NumberFormat format_of_table(const std::string& name);

/// One half of the rows, by a hash of the shape (FNV-1a of `key`, bit 20), was used to fit the constants; the other was
/// not.
bool held_out(const PublishedTime& row);

/// Best plan's time.
double predicted_us(const Machine& machine, const PublishedTime& row);
/// max(flops / peak, bytes / 8 TB/s) + 3 us with 2.3, 4.6 and 9.2 PF for bf16, FP8 and FP4: the yardstick.
double roofline_plus_3us(const PublishedTime& row);

struct Agreement {
  std::size_t rows = 0;
  double rank_correlation = 0;  ///< Spearman's, over the rows
  double mean_ratio = 0;        ///< geometric mean of predicted / published
  double spread = 0;            ///< geometric standard deviation of predicted / published
};
Agreement agreement(const std::vector<double>& predicted, const std::vector<double>& published);

}  // namespace wavetune::predict
