#include "templates/common/norm.h"

#include "templates/common/tile.h"

namespace wavetune::templates {

std::vector<std::string> norm_kernel(std::string file) {
  return {"templates/common/start.hip", "templates/common/rows.hip", "templates/common/reduce.hip", std::move(file)};
}

Space norm_space(DType type, const DeviceLimits& limits) {
  Space space;
  if (is_cpu(limits)) {
    space.add("threads", {1, 4, 16, 64}).add("threads_per_row", {1});
  } else {
    std::vector<std::int64_t> per_row{16, 64, 128, 256, 512, 1024};
    if (limits.wave_size < 64) per_row.insert(per_row.begin() + 1, limits.wave_size);
    space.add("threads", {64, 128, 256, 512, 1024}).add("threads_per_row", per_row);
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

Config norm_default(DType type, const DeviceLimits& limits) {
  const std::int64_t vec = vector_widths(type, limits).back();
  if (is_cpu(limits)) return {{"threads", 4}, {"threads_per_row", 1}, {"vec", vec}};
  return {{"threads", 256}, {"threads_per_row", 256}, {"vec", vec}};
}

std::int64_t norm_lds_bytes(const Config& config, const DeviceLimits& limits) {
  if (parameter(config, "threads_per_row") <= limits.wave_size) return 0;
  return 4 * (parameter(config, "threads") / limits.wave_size + 1);
}

Launch norm_launch(std::string kernel, const Config& config, std::int64_t rows) {
  const std::int64_t threads = parameter(config, "threads");
  Launch launch;
  launch.kernel = std::move(kernel);
  launch.block[0] = static_cast<std::uint32_t>(threads);
  launch.grid[0] = static_cast<std::uint32_t>(ceil_div(rows, threads / parameter(config, "threads_per_row")));
  return launch;
}

Tolerance norm_tolerance(DType type) { return type == DType::bf16 ? Tolerance{1e-5, 0x1p-6} : Tolerance{1e-5, 1e-4}; }

const HostTensor& norm_reference_input(const Problem& problem, std::span<HostTensor> tensors) {
  if (problem.dim("residual") == 0) return tensors[0];
  for (std::int64_t i = 0; i < tensors[1].count(); ++i) tensors[1].set(i, tensors[1].at(i) + tensors[0].at(i));
  return tensors[1];
}

}  // namespace wavetune::templates
