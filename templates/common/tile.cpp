#include "templates/common/tile.h"

#include <algorithm>

namespace wavetune::templates {

std::vector<std::int64_t> vector_widths(DType type, const DeviceLimits& limits) {
  const std::int64_t widest = std::min<std::int64_t>((is_cpu(limits) ? 32 : 16) / static_cast<int>(size_of(type)), 8);
  std::vector<std::int64_t> widths;
  for (std::int64_t width = 1; width <= widest; width *= 2) widths.push_back(width);
  return widths;
}

std::vector<std::string> tile_kernel(std::string file) {
  return {"templates/common/start.hip", "templates/common/rows.hip", "templates/common/tile.hip", std::move(file)};
}

Tolerance elementwise_tolerance(DType type, double absolute) {
  // bf16 has 8 significant bits: a value next to a rounding boundary may fall to either side, one step of 2^-7 apart.
  return type == DType::bf16 ? Tolerance{absolute, 0x1p-7} : Tolerance{absolute, 1e-5};
}

Space tile_space(DType type, const DeviceLimits& limits) {
  Space space;
  if (is_cpu(limits)) {
    space.add("threads", {8, 64}).add("threads_per_row", {1}).add("items", {16, 64, 256});
  } else {
    space.add("threads", {64, 128, 256, 512}).add("threads_per_row", {16, 64, 256}).add("items", {1, 2, 4});
  }
  space.add("vec", vector_widths(type, limits));
  space.require("the threads of a row fit in a block", [](const Config& config) {
    return parameter(config, "threads_per_row") <= parameter(config, "threads");
  });
  space.require("the block fits the device", [most = limits.max_block_threads](const Config& config) {
    return parameter(config, "threads") <= most;
  });
  return space;
}

Config tile_default(DType type, const DeviceLimits& limits) {
  const std::int64_t vec = vector_widths(type, limits).back();
  if (is_cpu(limits)) return {{"items", 64}, {"threads", 8}, {"threads_per_row", 1}, {"vec", vec}};
  return {{"items", 1}, {"threads", 256}, {"threads_per_row", 256}, {"vec", vec}};
}

Launch tile_launch(std::string kernel, const Config& config, std::int64_t rows, std::int64_t cols) {
  const std::int64_t threads = parameter(config, "threads");
  const std::int64_t threads_per_row = parameter(config, "threads_per_row");
  const std::int64_t block_cols = threads_per_row * parameter(config, "vec") * parameter(config, "items");
  Launch launch;
  launch.kernel = std::move(kernel);
  launch.block[0] = static_cast<std::uint32_t>(threads);
  launch.grid[0] = static_cast<std::uint32_t>(ceil_div(rows, threads / threads_per_row));
  launch.grid[1] = static_cast<std::uint32_t>(ceil_div(cols, block_cols));
  return launch;
}

}  // namespace wavetune::templates
