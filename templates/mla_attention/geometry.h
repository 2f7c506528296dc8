// Parameter space of mla_attention and the sizes that follow from a configuration.
#pragma once

#include "templates/common/launch.h"

namespace wavetune::templates {

/// A problem's dimensions.
struct AttentionDims {
  explicit AttentionDims(const Problem& p);
  std::int64_t m, heads, latent, rope, topk, slots;
  DType type;
  std::int64_t width() const { return latent + rope; }
};

Space attention_space(const AttentionDims& d, const DeviceLimits& limits);
Config attention_default(const AttentionDims& d, const DeviceLimits& limits);
/// Dynamic LDS of a block.
std::int64_t attention_lds_bytes(const Config& config, const AttentionDims& d);

}  // namespace wavetune::templates
