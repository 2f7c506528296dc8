#include "search/measure/loaded_launches.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace wavetune::measure {

LoadedLaunches::LoadedLaunches(const hip::Api& api, const hip::Module& module, std::vector<templates::Launch> launches)
    : api_(api), launches_(std::move(launches)) {
  for (const templates::Launch& launch : launches_)
    functions_.push_back(hip::get_function(api_, module, launch.kernel));
}

void LoadedLaunches::enqueue(hipStream_t stream) const {
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    const templates::Launch& launch = launches_[i];
    hip::launch(api_, functions_[i], launch.grid, launch.block, launch.lds_bytes, stream, launch.params);
  }
}

db::Resources LoadedLaunches::resources() const {
  db::Resources resources;
  const auto keep_largest = [&](std::optional<int>& field, hipFunction_attribute attribute) {
    for (hipFunction_t function : functions_) {
      int value = 0;
      if (api_.hipFuncGetAttribute(&value, attribute, function) == hipSuccess)
        field = std::max(field.value_or(0), value);
    }
  };
  keep_largest(resources.vgpr, HIP_FUNC_ATTRIBUTE_NUM_REGS);
  keep_largest(resources.lds_bytes, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  keep_largest(resources.scratch_bytes, HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  return resources;
}

}  // namespace wavetune::measure
