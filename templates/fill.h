// Test data: what Operator::fill puts in tensors. Same values on every platform, and fast enough for gigabytes of
// weights.
#pragma once

#include <cstdint>
#include <random>

#include "templates/host_tensor.h"

namespace wavetune::templates {

/// About normal with standard deviation `scale`; one element in 512 is eight times as large, as activations of language
/// models have outliers, and a dropped or doubled outlier cannot hide in the tolerance.
void fill_normal(HostTensor& tensor, std::mt19937_64& random, double scale = 1.0);

/// Uniform in [low, high).
void fill_uniform(HostTensor& tensor, std::mt19937_64& random, double low, double high);

/// Integers, uniform in [low, high).
void fill_indices(HostTensor& tensor, std::mt19937_64& random, std::int64_t low, std::int64_t high);

/// `tensor` gets a random choice of count() different integers from [0, limit), in random order; limit >= count().
void fill_distinct(HostTensor& tensor, std::mt19937_64& random, std::int64_t limit);

}  // namespace wavetune::templates
