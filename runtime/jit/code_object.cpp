#include "runtime/jit/code_object.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "db/base/bytes.h"

namespace wavetune::jit {
namespace {

// NT_AMDGPU_METADATA of the AMDGPU back end's documentation ("Code Object V3 and above"): MessagePack, name "AMDGPU".
constexpr std::uint32_t note_amdgpu_metadata = 32;
constexpr std::string_view note_name = "AMDGPU";

std::uint64_t aligned(std::uint64_t size) { return (size + 3) / 4 * 4; }

/// The description of the first note of that name and type in a note segment.
std::optional<std::span<const std::byte>> find_note(std::span<const std::byte> segment) {
  std::uint64_t offset = 0;
  while (const auto note = read_at<Elf64_Nhdr>(segment, offset)) {
    offset += sizeof(Elf64_Nhdr);
    const auto name = slice(segment, offset, note->n_namesz);
    offset += aligned(note->n_namesz);
    const auto description = slice(segment, offset, note->n_descsz);
    offset += aligned(note->n_descsz);
    if (!name || !description) return std::nullopt;
    const std::string_view text(reinterpret_cast<const char*>(name->data()), name->size());
    if (note->n_type == note_amdgpu_metadata && text.substr(0, text.find('\0')) == note_name) return description;
  }
  return std::nullopt;
}

std::optional<std::span<const std::byte>> metadata_of(std::span<const std::byte> code) {
  const auto header = read_at<Elf64_Ehdr>(code, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
    return std::nullopt;
  for (std::uint32_t i = 0; i < header->e_phnum; ++i) {
    const auto program = read_at<Elf64_Phdr>(code, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!program) return std::nullopt;
    if (program->p_type != PT_NOTE) continue;
    const auto segment = slice(code, program->p_offset, program->p_filesz);
    if (!segment) continue;
    if (const auto note = find_note(*segment)) return note;
  }
  return std::nullopt;
}

void keep_largest(std::optional<int>& field, const nlohmann::json& kernel, const char* name) {
  const auto found = kernel.find(name);
  if (found == kernel.end() || !found->is_number_integer()) return;
  field = std::max(field.value_or(0), found->get<int>());
}

void keep_largest(db::Resources& resources, const nlohmann::json& kernel) {
  if (!kernel.is_object()) return;
  keep_largest(resources.vgpr, kernel, ".vgpr_count");
  keep_largest(resources.agpr, kernel, ".agpr_count");
  keep_largest(resources.sgpr, kernel, ".sgpr_count");
  keep_largest(resources.lds_bytes, kernel, ".group_segment_fixed_size");
  keep_largest(resources.scratch_bytes, kernel, ".private_segment_fixed_size");
  keep_largest(resources.spills, kernel, ".vgpr_spill_count");
}

}  // namespace

nlohmann::json metadata_of_code_object(std::span<const std::byte> code) {
  const auto note = metadata_of(code);
  if (!note) return nullptr;
  const auto* begin = reinterpret_cast<const std::uint8_t*>(note->data());
  nlohmann::json metadata =
      nlohmann::json::from_msgpack(std::vector<std::uint8_t>(begin, begin + note->size()), true, false);
  return metadata.is_object() ? metadata : nlohmann::json();
}

db::Resources resources_of_kernel(const nlohmann::json& kernel) {
  db::Resources resources;
  keep_largest(resources, kernel);
  return resources;
}

db::Resources resources_of_kernel(const hip::cuda::CubinKernel& kernel) {
  db::Resources resources;
  resources.vgpr = kernel.registers;
  resources.lds_bytes = kernel.lds_bytes;
  resources.scratch_bytes = kernel.stack_bytes;
  return resources;
}

db::Resources resources_of_code_object(std::span<const std::byte> code) {
  db::Resources resources;
  if (hip::cuda::is_cubin(code)) {
    for (const hip::cuda::CubinKernel& kernel : hip::cuda::read_cubin(code, "code object").kernels) {
      const db::Resources own = resources_of_kernel(kernel);
      resources.vgpr = std::max(resources.vgpr, own.vgpr);
      resources.lds_bytes = std::max(resources.lds_bytes, own.lds_bytes);
      resources.scratch_bytes = std::max(resources.scratch_bytes, own.scratch_bytes);
    }
    return resources;
  }
  const nlohmann::json metadata = metadata_of_code_object(code);
  const auto kernels = metadata.find("amdhsa.kernels");
  if (kernels == metadata.end() || !kernels->is_array()) return resources;
  for (const nlohmann::json& kernel : *kernels) keep_largest(resources, kernel);
  return resources;
}

}  // namespace wavetune::jit
