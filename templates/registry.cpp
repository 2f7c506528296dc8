#include "templates/registry.h"

#include "db/base/error.h"
#include "templates/all_reduce/all_reduce.h"
#include "templates/cache_write/cache_write.h"
#include "templates/embedding/embedding.h"
#include "templates/gemm/gemm.h"
#include "templates/grouped_gemm/grouped_gemm.h"
#include "templates/indexer_scores/indexer_scores.h"
#include "templates/layernorm/layernorm.h"
#include "templates/mla_attention/mla_attention.h"
#include "templates/moe_combine/moe_combine.h"
#include "templates/moe_sort/moe_sort.h"
#include "templates/quantize/quantize.h"
#include "templates/rmsnorm/rmsnorm.h"
#include "templates/rope/rope.h"
#include "templates/router/router.h"
#include "templates/sample/sample.h"
#include "templates/silu_mul/silu_mul.h"
#include "templates/topk_select/topk_select.h"

namespace wavetune::templates {

const std::vector<const Operator*>& all_operators() {
  // Alphabetical, as registry.h promises.
  static const std::vector<const Operator*> operators = {
      &all_reduce_operator(),   &cache_write_operator(),    &embedding_operator(), &gemm_operator(),
      &grouped_gemm_operator(), &indexer_scores_operator(), &layernorm_operator(), &mla_attention_operator(),
      &moe_combine_operator(),  &moe_sort_operator(),       &quantize_operator(),  &rmsnorm_operator(),
      &rope_operator(),         &router_operator(),         &sample_operator(),    &silu_mul_operator(),
      &topk_select_operator(),
  };
  return operators;
}

const Operator* find_operator(std::string_view name) {
  for (const Operator* op : all_operators()) {
    if (op->name() == name) return op;
  }
  return nullptr;
}

const Operator& get_operator(std::string_view name) {
  if (const Operator* op = find_operator(name)) return *op;
  std::string known;
  for (const Operator* op : all_operators()) known += (known.empty() ? "" : ", ") + std::string(op->name());
  fail(ErrorKind::usage, "there is no operator '{}'; known: {}", name, known);
}

}  // namespace wavetune::templates
