// What stands between the layers, against transformers: the first line that fails names the operator that is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "golden.h"

namespace wavetune::engine {
namespace {

/// Keeps what each call wrote last: the buffer of its last operand.
class Recorder final : public StepObserver {
 public:
  Recorder(Executor& executor, const model::StepShape& shape) : executor_(executor), shape_(shape) {}
  void before(int, hipStream_t) override {}
  void after(int call, hipStream_t) override {
    if (call < 0) return;
    const model::OpCall& entry = executor_.program().calls[static_cast<std::size_t>(call)];
    outputs_[entry.label] = executor_.read(entry.operands.back().buffer, shape_);
  }
  /// A missing label is a test failure and an empty tensor.
  const templates::HostTensor& output(const std::string& label) {
    EXPECT_TRUE(outputs_.contains(label)) << label;
    return outputs_[label];
  }

 private:
  Executor& executor_;
  model::StepShape shape_;
  std::map<std::string, templates::HostTensor> outputs_;
};

/// Largest deviation over the largest expected value; both -inf counts as equal.
void expect_close(const templates::HostTensor& got, const std::vector<float>& expected, const std::string& what) {
  ASSERT_EQ(got.count(), static_cast<std::int64_t>(expected.size())) << what;
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double a = got.at(static_cast<std::int64_t>(i)), b = expected[i];
    if (std::isinf(b)) {
      EXPECT_EQ(a, b) << what << " at " << i;
      continue;
    }
    largest = std::max(largest, std::abs(b));
    worst = std::isfinite(a) ? std::max(worst, std::abs(a - b)) : INFINITY;
  }
  EXPECT_LE(worst, 1e-4 * largest) << what;
}

class LayersTest : public testing::Test {
 protected:
  LayersTest()
      : group_(make_group("tiny-f32")),
        golden_(read_golden("tiny-f32.layers.safetensors")),
        sequence_(scattered_sequence(golden_.get<std::int32_t>("ids"), group_.executor->options())),
        step_(all_logits_step(sequence_, 0, sequence_.length(), group_.executor->options())),
        shape_(group_.executor->shape_of(step_)),
        recorder_(*group_.executor, shape_) {
    group_.executor->step(step_, &recorder_);
  }

  static std::string layer(std::int64_t index) { return "layer." + std::to_string(index) + "."; }
  std::string label(std::int64_t index, const std::string& rest) const {
    return "layers." + std::to_string(index) + "." + rest;
  }
  bool is_full(std::int64_t index) const {
    return group_.config.indexer_types[static_cast<std::size_t>(index)] == model::IndexerKind::full;
  }
  bool is_sparse(std::int64_t index) const {
    return group_.config.mlp_layer_types[static_cast<std::size_t>(index)] == model::MlpKind::sparse;
  }

  TestGroup group_;
  GoldenFile golden_;
  Sequence sequence_;
  StepInput step_;
  model::StepShape shape_;
  Recorder recorder_;
};

TEST_F(LayersTest, SublayersAgree) {
  expect_close(recorder_.output("embed_tokens"), golden_.get<float>("embed"), "embedding");
  for (std::int64_t i = 0; i < group_.config.num_hidden_layers; ++i) {
    expect_close(recorder_.output(label(i, "self_attn.o_proj")), golden_.get<float>(layer(i) + "attention"),
                 layer(i) + "attention");
    if (is_sparse(i)) {
      expect_close(recorder_.output(label(i, "mlp.gate")), golden_.get<float>(layer(i) + "router_logits"),
                   layer(i) + "router");
    }
    const std::string last = is_sparse(i) ? "mlp.combine" : "mlp.down_proj";
    expect_close(recorder_.output(label(i, last)), golden_.get<float>(layer(i) + "mlp"), layer(i) + "mlp");
  }
  expect_close(recorder_.output("norm"), golden_.get<float>("final_norm"), "final norm");
}

/// Scores lie in rows as wide as the context bucket; behind the last token they are hidden.
TEST_F(LayersTest, IndexScoresAgree) {
  const std::int64_t length = sequence_.length();
  for (std::int64_t i = 0; i < group_.config.num_hidden_layers; ++i) {
    if (!is_full(i)) continue;
    const templates::HostTensor& scores = recorder_.output(label(i, "self_attn.indexer.scores"));
    templates::HostTensor visible(templates::DType::f32, length * length);
    for (std::int64_t row = 0; row < length; ++row) {
      for (std::int64_t col = 0; col < length; ++col)
        visible.set(row * length + col, scores.at(row * shape_.context + col));
    }
    expect_close(visible, golden_.get<float>(layer(i) + "index_scores"), layer(i) + "index_scores");
  }
}

TEST_F(LayersTest, SelectedTokensAreTheSame) {
  const std::int64_t page_size = group_.executor->options().page_size;
  std::map<std::int32_t, std::int32_t> position_of{{-1, -1}};  // cache slot -> position
  for (std::size_t i = 0; i < step_.slots.size(); ++i) position_of[step_.slots[i]] = step_.positions[i];
  for (std::int64_t i = 0; i < group_.config.num_hidden_layers; ++i) {
    if (!is_full(i)) continue;
    const templates::HostTensor& slots = recorder_.output(label(i, "self_attn.indexer.topk"));
    std::vector<std::int32_t> positions;
    for (std::int32_t slot : slots.as<std::int32_t>()) {
      ASSERT_TRUE(position_of.contains(slot)) << "slot " << slot << ", page size " << page_size;
      positions.push_back(position_of[slot]);
    }
    EXPECT_EQ(positions, golden_.get<std::int32_t>(layer(i) + "topk")) << layer(i);
  }
}

}  // namespace
}  // namespace wavetune::engine
