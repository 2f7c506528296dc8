// In which number formats a checkpoint is served: what each product of the program really multiplies, and how many
// bytes weights and cache take.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "db/problem.h"
#include "model/program.h"

namespace wavetune::search {

enum class CacheFormat {
  model,  ///< as the checkpoint's activations (bf16)
  fp8,    ///< latent and rope part in e4m3; indexer keys in e4m3 with one float32 scale each
};

struct ServedFormats {
  std::string name = "bf16";
  std::string dense;    ///< of attention projections and dense MLPs, as a gemm dtype; empty: as the program says
  std::string experts;  ///< of routed and shared experts
  CacheFormat cache = CacheFormat::model;
  std::string checkpoint;  ///< whose recipe that is

  /// The problem that a call of the program really is.
  db::Problem served(const db::Problem& problem) const;
};

/// bf16, fp8 (zai-org/GLM-5.2-FP8: blocks of 128x128) or mxfp4 (amd/GLM-5.2-MXFP4: experts MXFP4, all else bf16).
/// Throws Error usage that lists the names.
ServedFormats served_formats(const std::string& name);

/// The distinct problems of a step of `program` and its sampler as they are served, with how often each occurs;
/// formats with quantised activations add the quantisation in front of each product.
std::map<db::Problem, int> served_problems(const model::Program& program, const model::StepShape& step,
                                           const ServedFormats& formats);

/// Bytes of one rank.
double served_weight_bytes(const model::Program& program, const ServedFormats& formats);
/// Of the MTP layer, which the program leaves out: as large as the last layer, unquantised, and eh_proj, which every
/// rank has whole.
double mtp_weight_bytes(const model::Program& program);
double served_cache_bytes_per_token(const model::Program& program, const ServedFormats& formats);

}  // namespace wavetune::search
