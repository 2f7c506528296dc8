#include "runtime/isa/code_object.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "db/base/bytes.h"
#include "db/base/error.h"
#include "runtime/hip/cuda/cubin.h"
#include "runtime/jit/code_object.h"

namespace wavetune::isa {
namespace {

/// The bytes that lie at `address` once the object is loaded; empty when no segment holds them all.
std::span<const std::byte> at_address(std::span<const std::byte> bytes, const Elf64_Ehdr& header, std::uint64_t address,
                                      std::uint64_t size) {
  for (std::uint32_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = read_at<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment || segment->p_type != PT_LOAD || address < segment->p_vaddr) continue;
    const std::uint64_t inside = address - segment->p_vaddr;
    if (inside >= segment->p_filesz || size > segment->p_filesz - inside) continue;
    return slice(bytes, segment->p_offset + inside, size).value_or(std::span<const std::byte>{});
  }
  return {};
}

struct Function {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

std::optional<Function> find_function(std::span<const std::byte> bytes, const Elf64_Ehdr& header,
                                      std::string_view wanted) {
  for (std::uint32_t s = 0; s < header.e_shnum; ++s) {
    const auto section = read_at<Elf64_Shdr>(bytes, header.e_shoff + s * sizeof(Elf64_Shdr));
    if (!section || (section->sh_type != SHT_DYNSYM && section->sh_type != SHT_SYMTAB)) continue;
    const auto strings_header = read_at<Elf64_Shdr>(bytes, header.e_shoff + section->sh_link * sizeof(Elf64_Shdr));
    if (!strings_header) continue;
    const auto strings =
        slice(bytes, strings_header->sh_offset, strings_header->sh_size).value_or(std::span<const std::byte>{});
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section->sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = read_at<Elf64_Sym>(bytes, section->sh_offset + at);
      if (!symbol) break;
      if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_name >= strings.size()) continue;
      const auto* text = reinterpret_cast<const char*>(strings.data()) + symbol->st_name;
      const std::string_view name(text, strnlen(text, strings.size() - symbol->st_name));
      if (name == wanted) return Function{symbol->st_value, symbol->st_size};
    }
  }
  return std::nullopt;
}

std::string text_of(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

CodeObject from_cubin(std::span<const std::byte> bytes, std::string_view where) {
  const hip::cuda::Cubin cubin = hip::cuda::read_cubin(bytes, where);
  if (cubin.kernels.empty()) fail(ErrorKind::bad_data, "{}: has no kernel", where);
  CodeObject result;
  result.target = cubin.arch;
  result.arch = cubin.arch;
  for (const hip::cuda::CubinKernel& kernel : cubin.kernels) {
    KernelCode code;
    code.name = kernel.name;
    code.resources = jit::resources_of_kernel(kernel);
    code.max_threads = kernel.max_threads;
    result.kernels.push_back(std::move(code));
  }
  return result;
}

}  // namespace

const KernelCode& CodeObject::kernel(std::string_view name) const {
  if (name.empty() && kernels.size() == 1) return kernels.front();
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const KernelCode& k) { return k.name == name; });
  if (found != kernels.end()) return *found;
  std::string names;
  for (const KernelCode& kernel : kernels) names += (names.empty() ? "" : ", ") + kernel.name;
  if (name.empty()) fail(ErrorKind::usage, "several kernels: name one of them with --kernel: {}", names);
  fail(ErrorKind::usage, "there is no kernel '{}'; it has: {}", name, names);
}

CodeObject read_code_object(std::span<const std::byte> bytes, std::string_view where) {
  if (hip::cuda::is_cubin(bytes)) return from_cubin(bytes, where);
  const auto header = read_at<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64) {
    fail(ErrorKind::bad_data, "{}: is not an ELF code object; expected what hipRTC, NVRTC or Triton writes", where);
  }
  const nlohmann::json metadata = jit::metadata_of_code_object(bytes);
  CodeObject result;
  result.target = text_of(metadata, "amdhsa.target");
  const auto kernels = metadata.find("amdhsa.kernels");
  if (result.target.empty() || kernels == metadata.end() || !kernels->is_array() || kernels->empty()) {
    fail(ErrorKind::bad_data,
         "{}: has no AMDGPU metadata with a target and kernels; it is neither an AMD code object nor a cubin", where);
  }
  // "amdgcn-amd-amdhsa--gfx950:sramecc+:xnack-" in most files; newer LLVMs than ROCm's name the triple otherwise
  // ("amdgpu9.50-amd-amdhsa-unknown-gfx950"), which older libraries do not know.
  const std::string processor = result.target.substr(result.target.rfind('-', result.target.find(':')) + 1);
  result.arch = processor.substr(0, processor.find(':'));
  result.target = "amdgcn-amd-amdhsa--" + processor;
  for (const nlohmann::json& entry : *kernels) {
    KernelCode kernel;
    kernel.name = text_of(entry, ".name");
    kernel.resources = jit::resources_of_kernel(entry);
    if (const auto found = entry.find(".max_flat_workgroup_size"); found != entry.end() && found->is_number_integer())
      kernel.max_threads = found->get<int>();
    const std::optional<Function> function = find_function(bytes, *header, kernel.name);
    if (!function) fail(ErrorKind::bad_data, "{}: has metadata but no code of kernel '{}'", where, kernel.name);
    kernel.address = function->address;
    kernel.code = at_address(bytes, *header, function->address, function->size);
    if (kernel.code.empty()) {
      fail(ErrorKind::bad_data, "{}: the code of kernel '{}' lies outside of the file; it is cut short", where,
           kernel.name);
    }
    result.kernels.push_back(std::move(kernel));
  }
  return result;
}

}  // namespace wavetune::isa
