#include "search/driver/winner_code.h"

#include "search/driver/compile_request.h"

namespace wavetune::search {

void keep_winner_code(const TuneContext& context, const TuneTask& task) {
  const auto winner = context.database.winner(context.environment, task.problem);
  if (!winner) return;
  jit::CompileRequest request = compile_request(context, task, winner->config);
  const std::string key = context.compiler.key(request);
  if (context.database.winner_code_key(context.environment, task.problem) == key) return;
  const jit::CompileResult compiled = context.compiler.compile(std::move(request));
  if (compiled.outcome != db::Outcome::ok) return;
  context.database.put_winner_code(context.environment, task.problem, {winner->config, key, compiled.code});
}

}  // namespace wavetune::search
