// What the driver is given to tune.
#pragma once

#include "templates/operator.h"

namespace wavetune::search {

struct TuneTask {
  const templates::Operator* op = nullptr;
  db::Problem problem;
  double weight = 1;  ///< its part of the time of the steps it occurs in: its part of the budget
};

}  // namespace wavetune::search
