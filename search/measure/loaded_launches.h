// The launches of one run with their loaded functions.
#pragma once

#include <span>
#include <vector>

#include "db/trial.h"
#include "runtime/hip/handles.h"
#include "templates/operator.h"

namespace wavetune::measure {

class LoadedLaunches {
 public:
  /// `module` must outlive this.
  LoadedLaunches(const hip::Api& api, const hip::Module& module, std::vector<templates::Launch> launches);

  void enqueue(hipStream_t stream) const;
  std::span<const templates::Launch> launches() const { return launches_; }
  /// The largest figures over the functions; fields whose attribute the driver does not know stay empty.
  db::Resources resources() const;

 private:
  const hip::Api& api_;
  std::vector<templates::Launch> launches_;
  std::vector<hipFunction_t> functions_;  ///< one a launch
};

}  // namespace wavetune::measure
