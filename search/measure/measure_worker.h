// `wavetune __measure-worker`: the process in which candidates run, and may crash or hang.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "templates/operator.h"

namespace wavetune::measure {

using FindOperator = std::function<const templates::Operator&(std::string_view name)>;

/// Requests on standard input, answers on standard output, until end of file. `find` tells the operators: a test brings
/// its own.
int serve_measurements(FindOperator find);

/// The same with the operators of this build. Takes no arguments.
int measure_worker_main(const std::vector<std::string>& arguments);

}  // namespace wavetune::measure
