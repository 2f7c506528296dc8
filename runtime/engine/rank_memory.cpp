#include "runtime/engine/rank_memory.h"

#include "db/base/error.h"

namespace wavetune::engine {
namespace {

std::size_t aligned(std::size_t bytes) {
  constexpr auto alignment = static_cast<std::size_t>(model::Program::buffer_alignment);
  return (bytes + alignment - 1) / alignment * alignment;
}

std::size_t bytes_of(const model::Buffer& buffer, const model::StepShape& shape) {
  return templates::bytes_for(buffer.dtype, shape.value(buffer.rows) * shape.value(buffer.cols));
}

}  // namespace

RankMemory::RankMemory(const hip::Api& api, int device, const model::Program& program, const model::StepShape& largest,
                       InitialContents contents, const kernels::WeightOrders& orders)
    : program_(program), device_(device), addresses_(program.buffers.size(), nullptr) {
  hip::check(api, api.hipSetDevice(device), "hipSetDevice");
  const auto is_step_input = [&](std::size_t index) {
    return program.buffers[index].storage == model::Storage::input && static_cast<int>(index) != program.io.block_table;
  };
  std::size_t input_bytes = 0;
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    if (is_step_input(i)) input_bytes += aligned(bytes_of(program.buffers[i], largest));
  }
  inputs_ = hip::DeviceBuffer(api, input_bytes);

  std::size_t offset = 0;
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const model::Buffer& buffer = program.buffers[i];
    std::size_t bytes = bytes_of(buffer, largest);
    if (const auto order = orders.find(static_cast<int>(i)); order != orders.end()) {
      bytes = templates::bytes_for(buffer.dtype,
                                   templates::arranged(order->second.spec, order->second.arrangement).count());
    }
    if (is_step_input(i)) {
      addresses_[i] = static_cast<std::byte*>(inputs_.get()) + offset;
      offset += aligned(bytes);
      continue;
    }
    buffers_.emplace_back(api, bytes);
    addresses_[i] = static_cast<std::byte*>(buffers_.back().get());
    if (contents == InitialContents::poison && buffer.storage != model::Storage::weight) {
      hip::check(api, api.hipMemset(addresses_[i], 0xFF, bytes), "hipMemset of " + buffer.name);
    }
  }
}

templates::View RankMemory::view(const model::Ref& ref, const model::StepShape& shape) const {
  const auto stride = [&](std::int64_t value) { return value == -1 ? shape.context : value; };
  const templates::DType type = program_.buffers[static_cast<std::size_t>(ref.buffer)].dtype;
  std::byte* base = addresses_[static_cast<std::size_t>(ref.buffer)];
  return {base + templates::bytes_for(type, ref.offset), stride(ref.row_stride), stride(ref.batch_stride)};
}

std::size_t RankMemory::input_offset(int buffer) const {
  return static_cast<std::size_t>(addresses_[static_cast<std::size_t>(buffer)] -
                                  static_cast<std::byte*>(inputs_.get()));
}

}  // namespace wavetune::engine
