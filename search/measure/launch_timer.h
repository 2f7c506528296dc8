// Events around every launch of a step: where its time goes.
#pragma once

#include <map>
#include <vector>

#include "runtime/engine/executor.h"
#include "runtime/hip/handles.h"

namespace wavetune::measure {

/// Watches one step of an executor.
class LaunchTimer final : public engine::StepObserver {
 public:
  explicit LaunchTimer(const hip::Api& api) : api_(api) {}
  void before(int call, hipStream_t stream) override;
  void after(int call, hipStream_t stream) override;
  /// Call (index into Program::calls, -1 for the sampler) -> microseconds, summed over its launches.
  std::map<int, double> times() const;

 private:
  struct Mark {
    int call;
    hip::Event begin, end;
  };
  const hip::Api& api_;
  std::vector<Mark> marks_;
};

}  // namespace wavetune::measure
