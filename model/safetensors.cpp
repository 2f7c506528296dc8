#include "model/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "db/base/error.h"
#include "db/base/file.h"
#include "model/json_fields.h"

namespace wavetune::model {

using nlohmann::json;

/// A whole file, read-only.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path) : path_(path.string()) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      fail(errno == ENOENT ? ErrorKind::not_found : ErrorKind::io, "cannot open {}: {}", path_, std::strerror(errno));
    }
    struct stat status {};
    if (::fstat(fd, &status) == 0 && status.st_size > 0) {
      size_ = static_cast<std::size_t>(status.st_size);
      data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    const int code = errno;
    ::close(fd);
    if (data_ == MAP_FAILED) fail(ErrorKind::io, "cannot map {} of {} bytes: {}", path_, size_, std::strerror(code));
  }
  ~MappedFile() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  std::string path_;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

namespace {

/// The header of the reference implementation may not be larger than this.
constexpr std::uint64_t max_header_bytes = 100'000'000;

/// Bits of an element; nothing for a type that this reader does not know (its size then cannot be checked).
std::optional<std::uint64_t> element_bits(std::string_view dtype) {
  static const std::map<std::string_view, std::uint64_t> sizes = {
      {"F64", 64},    {"I64", 64},  {"U64", 64}, {"F32", 32}, {"I32", 32},    {"U32", 32},
      {"F16", 16},    {"BF16", 16}, {"I16", 16}, {"U16", 16}, {"F8_E4M3", 8}, {"F8_E5M2", 8},
      {"F8_E8M0", 8}, {"I8", 8},    {"U8", 8},   {"BOOL", 8}, {"F4", 4}};
  const auto found = sizes.find(dtype);
  return found == sizes.end() ? std::nullopt : std::optional(found->second);
}

struct HeaderEntry {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  ///< bytes from the end of the header
};

HeaderEntry read_entry(const std::string& path, const std::string& name, const json& value) {
  const auto bad = [&](std::string_view what) { fail(ErrorKind::bad_data, "{}: tensor {}: {}", path, name, what); };
  HeaderEntry entry{name, {}, {}, 0, 0};
  if (!value.is_object() || !value.contains("dtype") || !value["dtype"].is_string()) bad("no dtype in the header");
  entry.dtype = value["dtype"].get<std::string>();
  if (!value.contains("shape") || !value["shape"].is_array()) bad("no shape in the header");
  for (const json& size : value["shape"]) {
    if (!size.is_number_unsigned()) bad("the shape must be a list of sizes >= 0");
    entry.shape.push_back(size.get<std::int64_t>());
  }
  const json offsets = value.value("data_offsets", json());
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned()) {
    bad("data_offsets must be two offsets >= 0");
  }
  entry.begin = offsets[0].get<std::uint64_t>();
  entry.end = offsets[1].get<std::uint64_t>();
  return entry;
}

/// Offsets inside the file, and as many bytes as the shape says.
void check_entry(const std::string& path, const HeaderEntry& entry, std::uint64_t data_size) {
  if (entry.begin > entry.end) {
    fail(ErrorKind::bad_data, "{}: tensor {}: data_offsets {}..{} run backwards", path, entry.name, entry.begin,
         entry.end);
  }
  if (entry.end > data_size) {
    fail(ErrorKind::bad_data,
         "{}: tensor {} ends at data byte {}, but the file holds only {}: it is truncated; fetch it again", path,
         entry.name, entry.end, data_size);
  }
  const auto bits = element_bits(entry.dtype);
  if (!bits) return;
  std::uint64_t total = *bits;
  for (const std::int64_t size : entry.shape) {
    const auto factor = static_cast<std::uint64_t>(size);
    if (factor != 0 && total > std::numeric_limits<std::uint64_t>::max() / factor) {
      fail(ErrorKind::bad_data, "{}: tensor {}: its shape overflows", path, entry.name);
    }
    total *= factor;
  }
  if (total / 8 != entry.end - entry.begin) {
    fail(ErrorKind::bad_data, "{}: tensor {}: its shape needs {} bytes, but data_offsets hold {}", path, entry.name,
         total / 8, entry.end - entry.begin);
  }
}

void check_overlaps(const std::string& path, std::vector<HeaderEntry>& entries) {
  std::sort(entries.begin(), entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].begin < entries[i - 1].end) {
      fail(ErrorKind::bad_data, "{}: tensors {} and {} overlap", path, entries[i - 1].name, entries[i].name);
    }
  }
}

/// The shards named by an index, each once.
std::set<std::string> shards_of(const json& index, const std::string& path) {
  std::set<std::string> shards;
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (map == index.end() || !map->is_object()) fail(ErrorKind::bad_data, "{}: no weight_map in it", path);
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string()) fail(ErrorKind::bad_data, "{}: the shard of tensor {} is not a file name", path, tensor);
    const auto name = shard.get<std::string>();
    if (name.find('/') != std::string::npos) {
      fail(ErrorKind::bad_data, "{}: tensor {} is said to be in {}, which is outside the folder", path, tensor, name);
    }
    shards.insert(name);
  }
  return shards;
}

}  // namespace

Checkpoint::Checkpoint() = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

Checkpoint Checkpoint::open(const std::filesystem::path& model_directory) {
  const std::filesystem::path single = model_directory / "model.safetensors";
  const std::filesystem::path index_path = model_directory / "model.safetensors.index.json";
  Checkpoint checkpoint;
  std::error_code ignored;
  if (std::filesystem::exists(single, ignored)) {  // as in transformers, the single file goes first
    checkpoint.looked_in_ = single.string();
    checkpoint.add_file(single);
    return checkpoint;
  }
  if (!std::filesystem::exists(index_path, ignored)) {
    fail(ErrorKind::not_found, "no weights in {}: neither model.safetensors nor model.safetensors.index.json is there",
         model_directory.string());
  }
  checkpoint.looked_in_ = index_path.string();
  const json index = parse_json(read_file(index_path), checkpoint.looked_in_);
  const std::set<std::string> shards = shards_of(index, checkpoint.looked_in_);
  for (const std::string& shard : shards) {
    if (!std::filesystem::exists(model_directory / shard, ignored)) {
      fail(ErrorKind::not_found, "shard {} is missing: {} lists it; fetch the checkpoint again",
           (model_directory / shard).string(), checkpoint.looked_in_);
    }
  }
  for (const std::string& shard : shards) checkpoint.add_file(model_directory / shard);
  for (const auto& [tensor, shard] : index["weight_map"].items()) {
    if (checkpoint.contains(tensor)) continue;
    fail(ErrorKind::bad_data, "{} lists tensor {} in {}, but no shard holds it; fetch the checkpoint again",
         checkpoint.looked_in_, tensor, shard.get<std::string>());
  }
  return checkpoint;
}

void Checkpoint::add_file(const std::filesystem::path& path) {
  files_.push_back(std::make_unique<MappedFile>(path));
  const MappedFile& file = *files_.back();
  const std::span<const std::byte> bytes = file.bytes();
  std::uint64_t header_size = 0;
  if (bytes.size() < sizeof header_size) {
    fail(ErrorKind::bad_data, "{} is truncated: {} bytes, not even the header's length", file.path(), bytes.size());
  }
  std::memcpy(&header_size, bytes.data(), sizeof header_size);
  if (header_size > max_header_bytes) {
    fail(ErrorKind::bad_data, "{} is not a safetensors file: it claims a header of {} bytes", file.path(), header_size);
  }
  if (header_size > bytes.size() - sizeof header_size) {
    fail(ErrorKind::bad_data, "{} is truncated: the header has {} bytes, the file {}; fetch it again", file.path(),
         header_size, bytes.size());
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + sizeof header_size, header_size);
  const json header = parse_json(text, file.path() + ": header");
  if (!header.is_object()) fail(ErrorKind::bad_data, "{}: the header is not a JSON object", file.path());
  const std::span<const std::byte> data = bytes.subspan(sizeof header_size + header_size);

  std::vector<HeaderEntry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") continue;
    entries.push_back(read_entry(file.path(), name, value));
    check_entry(file.path(), entries.back(), data.size());
  }
  check_overlaps(file.path(), entries);
  for (HeaderEntry& entry : entries) {
    Entry stored{std::move(entry.dtype), std::move(entry.shape), data.subspan(entry.begin, entry.end - entry.begin),
                 &file};
    const auto [position, inserted] = tensors_.emplace(entry.name, std::move(stored));
    if (!inserted) {
      fail(ErrorKind::bad_data, "tensor {} is in {} and in {}", entry.name, position->second.file->path(), file.path());
    }
  }
}

TensorView Checkpoint::get(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    fail(ErrorKind::bad_data,
         "tensor {} is missing: {} holds {} tensors, but not this one; is config.json of another checkpoint?", name,
         looked_in_, tensors_.size());
  }
  const Entry& entry = found->second;
  return {entry.dtype, entry.shape, entry.bytes, entry.file->path()};
}

std::vector<std::string_view> Checkpoint::names() const {
  std::vector<std::string_view> result;
  for (const auto& [name, entry] : tensors_) result.push_back(name);
  return result;
}

}  // namespace wavetune::model
