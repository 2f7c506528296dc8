#include "search/driver/winner_code.h"

namespace wavetune::search {

void keep_winner_code(const TuneContext& context, const TuneTask& task) {
  const auto winner = context.database.winner(context.environment, task.problem);
  if (!winner) return;
  jit::CompileRequest request{
      context.options.device,
      context.provider.prelude() + context.options.kernel_source(*task.op, task.problem, winner->config),
      context.provider.compile_options(context.provider.devices().front())};
  const std::string key = context.compiler.key(request);
  if (context.database.winner_code_key(context.environment, task.problem) == key) return;
  const jit::CompileResult compiled = context.compiler.compile(std::move(request));
  if (compiled.outcome != db::Outcome::ok) return;
  context.database.put_winner_code(context.environment, task.problem, {winner->config, key, compiled.code});
}

}  // namespace wavetune::search
