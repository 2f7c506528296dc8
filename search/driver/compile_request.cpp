#include "search/driver/compile_request.h"

namespace wavetune::search {

jit::CompileRequest compile_request(const TuneContext& context, const TuneTask& task, const db::Config& config) {
  jit::CompileRequest request{
      context.options.device,
      context.provider.prelude() + context.options.kernel_source(*task.op, task.problem, config),
      context.provider.compile_options(context.provider.devices().front())};
  for (std::string& option : task.op->compile_options()) request.options.push_back(std::move(option));
  return request;
}

}  // namespace wavetune::search
