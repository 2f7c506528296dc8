// What the compile service is asked for.
#pragma once

#include "search/driver/shape_tuner.h"

namespace wavetune::search {

/// One configuration of the task's operator as a translation unit for the run's device, with the options of both.
jit::CompileRequest compile_request(const TuneContext& context, const TuneTask& task, const db::Config& config);

}  // namespace wavetune::search
