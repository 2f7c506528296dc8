#include "runtime/engine/executor.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>

#include "db/base/error.h"
#include "runtime/engine/weight_upload.h"
#include "runtime/kernels/coverage.h"

namespace wavetune::engine {
namespace {

model::StepShape largest_step(const ExecutorOptions& options) {
  return {options.max_step_tokens, options.max_samples, options.max_context, options.pages * options.page_size};
}

template <class T>
void copy_to(const PinnedBuffer& buffer, std::size_t offset, const std::vector<T>& values) {
  if (!values.empty()) std::memcpy(buffer.at<T>(offset), values.data(), values.size() * sizeof(T));
}

}  // namespace

Executor::Executor(std::shared_ptr<const hip::Provider> provider, kernels::KernelCache& kernels,
                   const model::ModelConfig& config, const model::Checkpoint& checkpoint,
                   const ExecutorOptions& options)
    : provider_(std::move(provider)), api_(provider_->api()), kernels_(kernels), options_(options) {
  context_buckets_ = kernels::context_buckets(options_.page_size, options_.max_context);
  options_.max_context = context_buckets_.back();
  const int tp = static_cast<int>(options_.devices.size());
  const model::StepShape largest = largest_step(options_);
  for (int rank = 0; rank < tp; ++rank) {
    programs_.push_back(model::build_program(config, {.tp = tp,
                                                      .rank = rank,
                                                      .page_size = static_cast<int>(options_.page_size),
                                                      .max_sequences = options_.max_sequences,
                                                      .max_context = options_.max_context}));
  }
  use_graphs_ = options_.graphs == Graphs::on ||
                (options_.graphs == Graphs::automatic && (provider_->kind() != hip::ProviderKind::cpu || tp == 1));
  memories_.reserve(static_cast<std::size_t>(tp));
  // The same calls on every rank: what is decided for the first holds for all.
  const kernels::WeightOrders orders =
      kernels::settle_weight_orders(programs_.front(), provider_->devices().front().limits, kernels_);
  for (int rank = 0; rank < tp; ++rank) {
    const model::Program& program = programs_[static_cast<std::size_t>(rank)];
    memories_.emplace_back(api_, options_.devices[static_cast<std::size_t>(rank)], program, largest, options_.contents,
                           orders);
    upload_weights(api_, program, checkpoint, memories_.back(), orders);
    streams_.push_back(hip::make_stream(api_));
    ranks_.push_back({memories_.back().device(), streams_.back().get()});
  }
  const std::size_t partial_bytes =
      static_cast<std::size_t>(options_.max_step_tokens * config.hidden_size) * templates::size_of(config.dtype);
  communicator_ = std::make_unique<comm::Communicator>(api_, ranks_, partial_bytes);

  hip::check(api_, api_.hipSetDevice(memories_[0].device()), "hipSetDevice");
  const auto samples = static_cast<std::size_t>(options_.max_samples);
  const model::Buffer& table = program().buffers[static_cast<std::size_t>(program().io.block_table)];
  host_inputs_ = PinnedBuffer(api_, memories_[0].input_bytes());
  host_block_table_ =
      PinnedBuffer(api_, static_cast<std::size_t>(table.rows.factor * table.cols.factor) * sizeof(std::int32_t));
  // No page has this number: the first row of every sequence differs, page 0 included, and is written.
  std::memset(host_block_table_.at<std::byte>(), 0xFF, host_block_table_.bytes());
  host_sampling_ = PinnedBuffer(api_, 3 * samples * sizeof(float));
  host_tokens_ = PinnedBuffer(api_, samples * sizeof(std::int32_t));
  sampling_ = hip::DeviceBuffer(api_, 3 * samples * sizeof(float));
  tokens_ = hip::DeviceBuffer(api_, samples * sizeof(std::int32_t));
  if (tp > 1)
    gathered_logits_ = hip::DeviceBuffer(api_, samples * static_cast<std::size_t>(config.vocab_size) * sizeof(float));

  auto* sampling = static_cast<float*>(sampling_.get());
  const SamplerAddresses sampler{tp > 1 ? gathered_logits_.get() : memories_[0].address(program().io.logits), sampling,
                                 sampling + samples, sampling + 2 * samples, tokens_.get()};
  planner_ = std::make_unique<StepPlanner>(api_, kernels_, programs_, memories_, *communicator_, sampler,
                                           PlannerLimits{options_.max_step_tokens, options_.max_samples});
}

Executor::~Executor() { settle_after_error(); }

void Executor::prepare() {
  const std::vector<model::StepShape> shapes =
      kernels::serving_shapes(options_.max_step_tokens, options_.max_samples, options_.page_size, options_.max_context,
                              options_.pages * options_.page_size);
  kernels_.prepare(kernels::serving_problems(program(), shapes), options_.devices);
}

model::StepShape Executor::shape_of(const StepInput& input) const {
  const auto bucket = std::lower_bound(context_buckets_.begin(), context_buckets_.end(), input.context);
  if (bucket == context_buckets_.end()) {
    fail(ErrorKind::usage, "a context of {} tokens: this engine was made for {}", input.context, options_.max_context);
  }
  return {input.tokens(), input.samples(), *bucket, options_.pages * options_.page_size};
}

std::vector<std::int32_t> Executor::step(const StepInput& input, StepObserver* observer) {
  check_fits(input);
  const model::StepShape shape = shape_of(input);
  try {
    StepPlan& plan = planner_->plan(shape);
    report_ = {false, plan.counts};
    stage_inputs(input);
    update_block_table(input);
    report_.from_graph = observer == nullptr && use_graphs_ && (plan.graph || capture(plan, shape));
    if (report_.from_graph) {
      plan.graph->launch();
    } else {
      enqueue(plan, shape, observer);
      ++plan.launched;
    }
    wait_for_all();
  } catch (...) {
    settle_after_error();
    throw;
  }
  last_samples_ = shape.samples;
  const auto* tokens = host_tokens_.at<std::int32_t>();
  return {tokens, tokens + shape.samples};
}

LaunchCounts Executor::decode_launches() {
  return planner_->plan({1, 1, context_buckets_.front(), options_.pages * options_.page_size}).counts;
}

templates::HostTensor Executor::read(int buffer, const model::StepShape& shape) const {
  const model::Buffer& description = program().buffers[static_cast<std::size_t>(buffer)];
  templates::HostTensor tensor(description.dtype, shape.value(description.rows) * shape.value(description.cols));
  hip::check(api_, api_.hipSetDevice(memories_[0].device()), "hipSetDevice");
  hip::check(api_, api_.hipStreamSynchronize(streams_[0].get()), "hipStreamSynchronize");
  hip::check(
      api_,
      api_.hipMemcpy(tensor.bytes().data(), memories_[0].address(buffer), tensor.bytes().size(), hipMemcpyDeviceToHost),
      "hipMemcpy of " + description.name);
  return tensor;
}

void Executor::write(int buffer, const templates::HostTensor& content) {
  hip::check(api_, api_.hipSetDevice(memories_[0].device()), "hipSetDevice");
  hip::check(api_, api_.hipStreamSynchronize(streams_[0].get()), "hipStreamSynchronize");
  hip::check(api_,
             api_.hipMemcpy(memories_[0].address(buffer), content.bytes().data(), content.bytes().size(),
                            hipMemcpyHostToDevice),
             "hipMemcpy to " + program().buffers[static_cast<std::size_t>(buffer)].name);
}

std::vector<float> Executor::logits() const {
  const auto ranks = static_cast<std::int64_t>(programs_.size());
  const std::int64_t vocab = program().config.vocab_size, width = shard();
  std::vector<float> packed(static_cast<std::size_t>(last_samples_ * vocab));
  const void* source = ranks > 1 ? gathered_logits_.get() : memories_[0].address(program().io.logits);
  hip::check(api_, api_.hipSetDevice(memories_[0].device()), "hipSetDevice");
  hip::check(api_, api_.hipMemcpy(packed.data(), source, packed.size() * sizeof(float), hipMemcpyDeviceToHost),
             "hipMemcpy of logits");
  if (ranks == 1) return packed;
  std::vector<float> rows(packed.size());
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    for (std::int64_t sample = 0; sample < last_samples_; ++sample) {
      std::copy_n(packed.begin() + (rank * last_samples_ + sample) * width, width,
                  rows.begin() + sample * vocab + rank * width);
    }
  }
  return rows;
}

void Executor::check_fits(const StepInput& input) const {
  if (input.tokens() == 0) fail(ErrorKind::usage, "a step without tokens");
  if (input.tokens() > options_.max_step_tokens || input.samples() > options_.max_samples) {
    fail(ErrorKind::usage, "a step of {} tokens and {} samples: this engine was made for {} and {}", input.tokens(),
         input.samples(), options_.max_step_tokens, options_.max_samples);
  }
}

void Executor::stage_inputs(const StepInput& input) {
  const model::ProgramInputs& io = program().io;
  const RankMemory& memory = memories_[0];
  copy_to(host_inputs_, memory.input_offset(io.token_ids), input.token_ids);
  copy_to(host_inputs_, memory.input_offset(io.positions), input.positions);
  copy_to(host_inputs_, memory.input_offset(io.slots), input.slots);
  copy_to(host_inputs_, memory.input_offset(io.sequence), input.sequence);
  copy_to(host_inputs_, memory.input_offset(io.sample_rows), input.sample_rows);
  const auto stride = static_cast<std::size_t>(options_.max_samples) * sizeof(float);
  copy_to(host_sampling_, 0, input.temperature);
  copy_to(host_sampling_, stride, input.top_p);
  copy_to(host_sampling_, 2 * stride, input.uniform);
}

void Executor::enqueue_input_copies(const model::StepShape& shape) {
  for (std::size_t rank = 0; rank < memories_.size(); ++rank) {
    hip::check(api_, api_.hipSetDevice(memories_[rank].device()), "hipSetDevice");
    hip::check(api_,
               api_.hipMemcpyAsync(memories_[rank].inputs(), host_inputs_.at<std::byte>(), host_inputs_.bytes(),
                                   hipMemcpyHostToDevice, streams_[rank].get()),
               "hipMemcpyAsync of step inputs");
  }
  if (shape.samples == 0) return;
  hip::check(api_, api_.hipSetDevice(memories_[0].device()), "hipSetDevice");
  hip::check(api_,
             api_.hipMemcpyAsync(sampling_.get(), host_sampling_.at<std::byte>(), host_sampling_.bytes(),
                                 hipMemcpyHostToDevice, streams_[0].get()),
             "hipMemcpyAsync of sampling parameters");
}

void Executor::update_block_table(const StepInput& input) {
  const int buffer = program().io.block_table;
  const std::int64_t width = program().buffers[static_cast<std::size_t>(buffer)].cols.factor;
  std::int64_t first = options_.max_sequences, last = -1;  // rows that changed
  for (const BlockRow& block : input.block_rows) {
    if (block.row < 0 || block.row >= options_.max_sequences || static_cast<std::int64_t>(block.pages.size()) > width) {
      fail(ErrorKind::internal, "block table row {} with {} pages: the table has {} x {}", block.row,
           block.pages.size(), options_.max_sequences, width);
    }
    auto* row = host_block_table_.at<std::int32_t>() + block.row * width;
    if (std::equal(block.pages.begin(), block.pages.end(), row)) continue;
    std::copy(block.pages.begin(), block.pages.end(), row);
    first = std::min<std::int64_t>(first, block.row);
    last = std::max<std::int64_t>(last, block.row);
  }
  if (last < first) return;
  const auto begin = static_cast<std::size_t>(first * width) * sizeof(std::int32_t);
  const auto bytes = static_cast<std::size_t>((last - first + 1) * width) * sizeof(std::int32_t);
  for (std::size_t rank = 0; rank < memories_.size(); ++rank) {
    hip::check(api_, api_.hipSetDevice(memories_[rank].device()), "hipSetDevice");
    hip::check(
        api_,
        api_.hipMemcpyAsync(static_cast<std::byte*>(memories_[rank].address(buffer)) + begin,
                            host_block_table_.at<std::byte>(begin), bytes, hipMemcpyHostToDevice, streams_[rank].get()),
        "hipMemcpyAsync of the block table");
  }
  // A graph is ordered behind rank 0's stream alone.
  if (use_graphs_ && memories_.size() > 1) wait_for_all();
}

bool Executor::capture(StepPlan& plan, const model::StepShape& shape) {
  // Not the first time: shapes that never come again are not worth it, and what the driver loads lazily must not be
  // loaded during a capture.
  if (plan.launched == 0) return false;
  try {
    plan.graph.emplace(api_, ranks_, [&] { enqueue(plan, shape, nullptr); });
  } catch (const Error& error) {
    if (options_.graphs == Graphs::on) throw;
    use_graphs_ = false;
    spdlog::warn("steps are launched kernel by kernel from now on, because one could not be captured: {}",
                 error.what());
  }
  return plan.graph.has_value();
}

void Executor::enqueue(const StepPlan& plan, const model::StepShape& shape, StepObserver* observer) {
  enqueue_input_copies(shape);
  for (const Segment& segment : plan.segments) {
    if (segment.before) communicator_->exchange(segment.before->partials, segment.before->bytes);
    for (std::size_t rank = 0; rank < segment.launches.size(); ++rank) {
      launch(segment.launches[rank], rank, rank == 0 ? observer : nullptr);
    }
  }
  if (shape.samples == 0) return;
  if (programs_.size() > 1) gather_logits(shape);
  launch(plan.sampler, 0, observer);
  hip::check(api_,
             api_.hipMemcpyAsync(host_tokens_.at<std::byte>(), tokens_.get(),
                                 static_cast<std::size_t>(shape.samples) * sizeof(std::int32_t), hipMemcpyDeviceToHost,
                                 streams_[0].get()),
             "hipMemcpyAsync of sampled tokens");
}

void Executor::launch(const std::vector<PlannedLaunch>& launches, std::size_t rank, StepObserver* observer) {
  if (launches.empty()) return;
  const hipStream_t stream = streams_[rank].get();
  hip::check(api_, api_.hipSetDevice(memories_[rank].device()), "hipSetDevice");
  for (const PlannedLaunch& planned : launches) {
    if (observer != nullptr) observer->before(planned.call, stream);
    std::size_t size = planned.params.size();
    // HIP takes a non-const pointer but only reads the packed parameters.
    void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, const_cast<std::byte*>(planned.params.data()),
                     HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
    const auto& grid = planned.grid;
    const auto& block = planned.block;
    const hipError_t code = api_.hipModuleLaunchKernel(planned.function, grid[0], grid[1], grid[2], block[0], block[1],
                                                       block[2], planned.lds_bytes, stream, nullptr, extra);
    if (code != hipSuccess) {
      const std::string label =
          planned.call < 0 ? "sampler" : program().calls[static_cast<std::size_t>(planned.call)].label;
      hip::check(api_, code,
                 fmt::format("launch of {} (grid {}x{}x{}, block {}, LDS {})", label, grid[0], grid[1], grid[2],
                             block[0], planned.lds_bytes));
    }
    if (observer != nullptr) observer->after(planned.call, stream);
  }
}

void Executor::gather_logits(const model::StepShape& shape) {
  const int buffer = program().io.logits;
  const std::size_t bytes = static_cast<std::size_t>(shape.samples * shard()) * sizeof(float);
  for (std::size_t rank = 0; rank < memories_.size(); ++rank) {
    std::byte* destination = static_cast<std::byte*>(gathered_logits_.get()) + rank * bytes;
    communicator_->gather_to_first(static_cast<int>(rank), memories_[rank].address(buffer), destination, bytes);
  }
}

void Executor::wait_for_all() {
  for (std::size_t rank = 0; rank < streams_.size(); ++rank) {
    hip::check(api_, api_.hipSetDevice(memories_[rank].device()), "hipSetDevice");
    hip::check(api_, api_.hipStreamSynchronize(streams_[rank].get()), "hipStreamSynchronize");
  }
}

void Executor::settle_after_error() noexcept {
  for (std::size_t rank = 0; rank < streams_.size(); ++rank) {
    (void)api_.hipSetDevice(memories_[rank].device());
    (void)api_.hipStreamSynchronize(streams_[rank].get());
  }
  (void)api_.hipGetLastError();
  // Rows of the failed step may not have reached the devices: forget them all, so that they are written again.
  if (host_block_table_.bytes() > 0) std::memset(host_block_table_.at<std::byte>(), 0xFF, host_block_table_.bytes());
}

std::int64_t Executor::shard() const {
  return program().config.vocab_size / static_cast<std::int64_t>(programs_.size());
}

}  // namespace wavetune::engine
