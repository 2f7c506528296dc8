// Checkpoints in the safetensors format: memory-mapped, in one file or in shards with an index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/program.h"
#include "templates/host_tensor.h"

namespace wavetune::model {

class MappedFile;

/// A tensor as it lies in the file. Valid while its Checkpoint lives.
struct TensorView {
  std::string_view dtype;  ///< the format's name: "F32", "BF16", "F16", "F8_E4M3", "U8", ...
  std::span<const std::int64_t> shape;
  std::span<const std::byte> bytes;  ///< row-major, little-endian, not aligned beyond a byte
  std::string_view file;             ///< where it was found, for messages
};

/// All tensors of a model folder. Reading is thread-safe.
class Checkpoint {
 public:
  /// Maps DIR/model.safetensors, or the shards that DIR/model.safetensors.index.json lists. Throws Error: not_found
  /// (neither file, or a shard that the index lists is absent), bad_data (truncated, header not JSON, offsets that
  /// overlap, leave the file or do not fit the shape; the message names file and tensor), io.
  static Checkpoint open(const std::filesystem::path& model_directory);
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();

  bool contains(std::string_view name) const { return tensors_.find(name) != tensors_.end(); }
  /// Throws Error bad_data that says where it was looked for.
  TensorView get(std::string_view name) const;
  /// In alphabetical order.
  std::vector<std::string_view> names() const;
  std::size_t file_count() const { return files_.size(); }

 private:
  struct Entry {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::span<const std::byte> bytes;
    const MappedFile* file = nullptr;
  };

  Checkpoint();
  void add_file(const std::filesystem::path& path);

  std::string looked_in_;  ///< the single file or the index
  std::vector<std::unique_ptr<MappedFile>> files_;
  std::map<std::string, Entry, std::less<>> tensors_;
};

/// The content of a weight buffer for the rank that `program` was built for, in the buffer's dtype (F32, BF16 and F16
/// are converted to F32 or BF16, rounding to nearest even). Throws Error bad_data when a tensor is missing or has
/// another shape than the config implies (the message gives both), incompatible for other number formats.
templates::HostTensor load_weight(const Program& program, const Weight& weight, const Checkpoint& checkpoint);

}  // namespace wavetune::model
