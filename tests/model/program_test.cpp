#include "model/program.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "templates/registry.h"
#include "tests/model/errors.h"
#include "tests/model/golden.h"

namespace wavetune::model {
namespace {

// shared facts: parameters without the multi-token-prediction layer, in bf16, and the routers' float32 corrections.
constexpr std::int64_t glm_parameters = 743'377'000'704;
constexpr std::int64_t glm_router_bytes = 4 * 256 * 75;

const StepShape step{.tokens = 5, .samples = 3, .context = 48, .slots = 4096};

Program glm(int tp, int rank = 0) {
  return build_program(glm_5_2_config(),
                       {.tp = tp, .rank = rank, .page_size = 16, .max_sequences = 8, .max_context = 4096});
}

std::map<std::string, int> calls_by_op(const Program& program) {
  std::map<std::string, int> counts;
  for (const OpCall& call : program.calls) ++counts[call.op];
  return counts;
}

const OpCall& call_of(const Program& program, const std::string& label) {
  for (const OpCall& call : program.calls) {
    if (call.label == label) return call;
  }
  throw std::out_of_range(label);
}

TEST(Program, MemoryOfGlm52IsWhatTheFactsSay) {
  const Program whole = glm(1);
  EXPECT_EQ(whole.weight_bytes(), 2 * glm_parameters + glm_router_bytes);
  EXPECT_EQ(whole.cache_bytes_per_token(), 95'232);
  for (const int tp : {2, 4, 8}) {
    const Program part = glm(tp);
    EXPECT_GT(part.weight_bytes() * tp, whole.weight_bytes());  // something is replicated
    EXPECT_LT(part.weight_bytes(), whole.weight_bytes() * 102 / (100 * tp) + (std::int64_t{8} << 30));
    EXPECT_EQ(part.cache_bytes_per_token(), whole.cache_bytes_per_token());
    EXPECT_LT(part.activation_bytes(step), glm(1).activation_bytes(step));
  }
}

TEST(Program, CallsOfGlm52) {
  const std::map<std::string, int> expected = {
      {"embedding", 2},          {"rmsnorm", 78 * 4 + 1},  {"layernorm", 21},
      {"rope", 78 * 2 + 21 * 2}, {"cache_write", 78 + 21}, {"gemm", 78 * 5 + 21 * 3 + 3 * 2 + 75 + 1},
      {"grouped_gemm", 150},     {"indexer_scores", 21},   {"topk_select", 21},
      {"mla_attention", 78},     {"silu_mul", 3},          {"router", 75},
      {"moe_sort", 75},          {"moe_combine", 75}};
  EXPECT_EQ(calls_by_op(glm(1)), expected);
  std::map<std::string, int> parallel = expected;
  parallel["all_reduce"] = 2 * 78;
  EXPECT_EQ(calls_by_op(glm(8)), parallel);
}

TEST(Program, ShapesFollowTheDegree) {
  const auto dims = [](const Program& program, const std::string& label) {
    return call_of(program, label).problem(step).key();
  };
  EXPECT_EQ(dims(glm(1), "layers.7.self_attn.qkv_a_proj"), "gemm/bf16/batch=1,k=6144,m=5,n=2624");
  EXPECT_EQ(dims(glm(8), "layers.7.self_attn.q_b_proj"), "gemm/bf16/batch=1,k=2048,m=5,n=2048");
  EXPECT_EQ(dims(glm(8), "layers.7.self_attn.absorb_key"), "gemm/bf16/batch=8,k=192,m=5,n=512");
  EXPECT_EQ(dims(glm(4), "layers.7.self_attn.absorb_value"), "gemm/bf16/batch=16,k=512,m=5,n=256");
  EXPECT_EQ(dims(glm(4), "layers.7.self_attn.attention"),
            "mla_attention/bf16/heads=16,latent=512,m=5,rope=64,slots=4096,topk=2048");
  EXPECT_EQ(dims(glm(4), "layers.7.mlp.experts.gate_up_proj"),
            "grouped_gemm/bf16/experts=257,k=6144,m=5,n=512,swiglu=1,topk=9");
  EXPECT_EQ(dims(glm(4), "layers.7.mlp.all_reduce"), "all_reduce/bf16/m=5,n=6144,ranks=4");
  EXPECT_EQ(dims(glm(4), "lm_head"), "gemm/bf16_f32/batch=1,k=6144,m=3,n=38720");
  EXPECT_EQ(dims(glm(4), "layers.6.self_attn.indexer.scores"),
            "indexer_scores/bf16/context=48,heads=32,m=5,n=128,page=16,pages=256,sequences=8,slots=4096");
}

TEST(Program, ProblemsAreCounted) {
  const Program program = glm(2);
  const auto problems = problems_of(program, step);
  int total = 0;
  for (const auto& [problem, count] : problems) total += count;
  EXPECT_EQ(total, static_cast<int>(program.calls.size()));
  EXPECT_EQ(problems.at(call_of(program, "layers.7.self_attn.o_proj").problem(step)), 78);
  EXPECT_LT(problems.size(), 50u);
}

/// Every operand of every call: the operator agrees with the dims, the dtype is right, and the view stays in its
/// buffer.
void check_operands(const Program& program) {
  for (const OpCall& call : program.calls) {
    if (call.op == "all_reduce") continue;  // here its operands are (partial, out); runtime/comm launches it
    SCOPED_TRACE(call.label);
    const templates::Operator& op = templates::get_operator(call.op);
    const db::Problem problem = call.problem(step);
    ASSERT_NO_THROW(op.check(problem));
    const auto specs = op.operands(problem);
    ASSERT_EQ(specs.size(), call.operands.size());
    for (const auto& [scalar, value] : op.default_scalars(problem))
      EXPECT_TRUE(call.scalars.contains(scalar)) << scalar;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const Ref& ref = call.operands[i];
      const Buffer& buffer = program.buffers[static_cast<std::size_t>(ref.buffer)];
      const std::int64_t row_stride = ref.row_stride == -1 ? step.context : ref.row_stride;
      const std::int64_t last =
          ref.offset + (specs[i].batch - 1) * ref.batch_stride + (specs[i].rows - 1) * row_stride + specs[i].cols;
      EXPECT_LE(last, step.value(buffer.rows) * step.value(buffer.cols)) << specs[i].name;
      EXPECT_EQ(buffer.dtype, specs[i].dtype) << specs[i].name;
      if (specs[i].role != templates::Role::input) {
        EXPECT_NE(buffer.storage, Storage::weight) << specs[i].name;
        EXPECT_NE(buffer.storage, Storage::input) << specs[i].name;
      }
    }
  }
}

TEST(Program, OperandsFitTheirOperators) {
  check_operands(glm(1));
  check_operands(glm(8));
  check_operands(build_program(load_config(demo_folder()), {.tp = 2}));
  check_operands(build_program(load_config(golden_folder() / "tiny-f32"), {.tp = 1}));
}

/// Elements of each checkpoint tensor that a rank takes, and whether the parts fill the buffers exactly.
std::map<std::string, std::int64_t> taken_elements(const Program& program) {
  std::map<std::string, std::int64_t> taken;
  std::set<int> filled;
  for (const Weight& weight : program.weights) {
    EXPECT_TRUE(filled.insert(weight.buffer).second);
    const Buffer& buffer = program.buffers[static_cast<std::size_t>(weight.buffer)];
    EXPECT_EQ(buffer.storage, Storage::weight);
    std::int64_t next_row = 0;
    for (const WeightPart& part : weight.parts) {
      const std::int64_t rows = part.row_end - part.row_begin, cols = part.col_end - part.col_begin;
      EXPECT_LE(part.row_end, part.tensor_rows) << part.tensor;
      EXPECT_LE(part.col_end, part.tensor_cols) << part.tensor;
      EXPECT_EQ(part.destination_row, next_row) << part.tensor;
      EXPECT_EQ(part.transpose ? rows : cols, buffer.cols.factor) << part.tensor;
      next_row += part.transpose ? cols : rows;
      taken[part.tensor] += rows * cols;
    }
    EXPECT_EQ(next_row, buffer.rows.factor) << buffer.name;
  }
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const bool weight = program.buffers[i].storage == Storage::weight;
    EXPECT_EQ(filled.contains(static_cast<int>(i)), weight) << program.buffers[i].name;
  }
  return taken;
}

TEST(Program, RanksTogetherTakeEveryWeight) {
  ModelConfig config = load_config(demo_folder());
  config.n_shared_experts = 2;
  const auto whole = taken_elements(build_program(config, {.tp = 1}));
  EXPECT_EQ(whole.at("model.layers.3.mlp.shared_experts.gate_proj.weight"), 2 * 64 * 128);
  EXPECT_FALSE(whole.contains("model.layers.3.self_attn.indexer.wk.weight"));  // layer 3 is shared
  for (const int tp : {2, 4, 8}) {
    std::map<std::string, std::int64_t> sum;
    for (int rank = 0; rank < tp; ++rank) {
      for (const auto& [tensor, count] : taken_elements(build_program(config, {.tp = tp, .rank = rank})))
        sum[tensor] += count;
    }
    for (const auto& [tensor, count] : whole) {
      EXPECT_TRUE(sum.at(tensor) == count || sum.at(tensor) == count * tp) << tensor << " at tp " << tp;
    }
  }
}

TEST(Program, TiedEmbeddingsFillTheHead) {
  ModelConfig config = load_config(demo_folder());
  config.tie_word_embeddings = true;
  const auto taken = taken_elements(build_program(config, {.tp = 1}));
  EXPECT_FALSE(taken.contains("lm_head.weight"));
  EXPECT_EQ(taken.at("model.embed_tokens.weight"), 2 * 1024 * 128);
}

TEST(Program, AllReduceSourcesAlternateAcrossSteps) {
  const Program program = glm(2);
  std::vector<int> sources;
  for (const OpCall& call : program.calls) {
    if (call.op == "all_reduce") sources.push_back(call.operands[0].buffer);
  }
  for (std::size_t i = 0; i < sources.size(); ++i) EXPECT_NE(sources[i], sources[(i + 1) % sources.size()]);
}

TEST(Program, DegreesAndRefusals) {
  EXPECT_EQ(valid_tp_degrees(glm_5_2_config(), 8), (std::vector<int>{1, 2, 4, 8}));
  EXPECT_EQ(valid_tp_degrees(glm_5_2_config(), 6), (std::vector<int>{1, 2}));
  EXPECT_EQ(valid_tp_degrees(load_config(demo_folder()), 1), (std::vector<int>{1}));
  const auto build = [](const ProgramOptions& options) { build_program(glm_5_2_config(), options); };
  expect_error(
      [&] { build({.tp = 3}); }, ErrorKind::usage,
      "degree 3 does not divide num_attention_heads = 64 of GLM-5.2; degrees that work: 1, 2, 4, 8, 16, 32, 64");
  expect_error([&] { build({.tp = 0}); }, ErrorKind::usage, "degree 0");
  expect_error([&] { build({.tp = 2, .rank = 2}); }, ErrorKind::usage, "rank 2 is outside 0..1");
  expect_error([&] { build({.page_size = 0}); }, ErrorKind::usage, "page size 0");
  expect_error([&] { build({.max_sequences = 0}); }, ErrorKind::usage, "0 sequences");
  expect_error([&] { build({.max_context = 0}); }, ErrorKind::usage, "context of 0");
  ModelConfig odd = glm_5_2_config();
  odd.vocab_size = 154881;
  expect_error([&] { build_program(odd, {.tp = 2}); }, ErrorKind::usage, "vocab_size = 154881");
  odd = glm_5_2_config();
  odd.moe_intermediate_size = 2049;
  expect_error([&] { build_program(odd, {.tp = 2}); }, ErrorKind::usage, "moe_intermediate_size = 2049");
}

}  // namespace
}  // namespace wavetune::model
