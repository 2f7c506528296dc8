// Quantised operands as the reference sees them: how their scales lie in rows, test data, and the numbers they stand
// for.
#pragma once

#include <random>
#include <span>
#include <string>
#include <vector>

#include "templates/gemm/matrix.h"

namespace wavetune::templates {

enum class Side { activations, weights };

/// The scales of `batch` operands [rows, k]. mx: e8m0 [rows, k / 32]. Groups: f32, activations [ceil(k / 128), rows],
/// weights [ceil(rows / 128), ceil(k / 128)]. Rows: f32 [1, rows].
OperandSpec scale_spec(std::string name, Scaling scaling, Side side, std::int64_t batch, std::int64_t rows,
                       std::int64_t k);

/// Numbers in the middle of the format's range and scales that vary, so that what they stand for is about normal with
/// standard deviation `spread`. `scales` may be null.
void fill_scaled(HostTensor& values, HostTensor* scales, double spread, std::mt19937_64& random);

/// [rows, k] of operand `batch`, scaled.
std::vector<float> scaled_rows(const HostTensor& values, const HostTensor* scales, Scaling scaling, Side side,
                               std::int64_t batch, std::int64_t rows, std::int64_t k);

/// Of that only the rows `chosen`, one after the other.
std::vector<float> chosen_rows(const HostTensor& values, const HostTensor* scales, Scaling scaling, Side side,
                               std::int64_t batch, std::int64_t rows, std::int64_t k,
                               std::span<const std::int64_t> chosen);

}  // namespace wavetune::templates
