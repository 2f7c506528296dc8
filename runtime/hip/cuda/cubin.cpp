#include "runtime/hip/cuda/cubin.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>

#include "db/base/bytes.h"
#include "db/base/error.h"

namespace wavetune::hip::cuda {
namespace {

constexpr std::uint16_t machine_cuda = 190;        // EM_CUDA
constexpr unsigned char entry_mark = 0x10;         // of a symbol's st_other: a kernel, no device function
constexpr unsigned first_abi_with_wide_flags = 8;  // e_flags: architecture in bits 8 to 15, before in bits 0 to 7
constexpr std::string_view reserved_section = ".nv.shared.reserved.0";
constexpr int reserved_bytes = 1024;  // the system's share of a block's shared memory, counted in from sm_90 on

// Attributes in .nv.info sections: u8 format, u8 attribute, then by format u16 value or u16 length and data.
constexpr std::uint8_t format_sized = 4;
constexpr std::uint8_t max_threads_attribute = 0x05;  // u32 x, y, z
constexpr std::uint8_t frame_size_attribute = 0x11;   // u32 symbol, u32 bytes
constexpr std::uint8_t parameter_attribute = 0x17;    // one for each parameter; a newer form of it is 0x45
constexpr std::uint8_t new_parameter_attribute = 0x45;
constexpr std::uint8_t registers_attribute = 0x2F;  // u32 symbol, u32 registers

std::string_view text_at(std::span<const std::byte> strings, std::uint64_t offset) {
  if (offset >= strings.size()) return {};
  const auto* text = reinterpret_cast<const char*>(strings.data()) + offset;
  return {text, strnlen(text, strings.size() - offset)};
}

struct Section {
  std::string_view name;
  Elf64_Shdr header;
};

class Elf {
 public:
  explicit Elf(std::span<const std::byte> bytes) : bytes_(bytes) {
    const auto header = read_at<Elf64_Ehdr>(bytes, 0);
    if (!header) return;
    std::vector<Elf64_Shdr> headers;
    for (std::uint32_t i = 0; i < header->e_shnum; ++i) {
      const auto section = read_at<Elf64_Shdr>(bytes, header->e_shoff + std::uint64_t{i} * sizeof(Elf64_Shdr));
      if (!section) break;
      headers.push_back(*section);
    }
    const auto names = header->e_shstrndx < headers.size() ? content(headers[header->e_shstrndx]) : bytes.first(0);
    for (const Elf64_Shdr& section : headers) sections_.push_back({text_at(names, section.sh_name), section});
  }

  std::span<const std::byte> content(const Elf64_Shdr& section) const {
    return section.sh_type == SHT_NOBITS ? bytes_.first(0)
                                         : slice(bytes_, section.sh_offset, section.sh_size).value_or(bytes_.first(0));
  }
  const Section* section(std::string_view name) const {
    const auto found =
        std::find_if(sections_.begin(), sections_.end(), [&](const Section& s) { return s.name == name; });
    return found == sections_.end() ? nullptr : &*found;
  }
  void each_symbol(const std::function<void(std::uint32_t index, std::string_view, const Elf64_Sym&)>& visit) const {
    const Section* table = section(".symtab");
    if (table == nullptr || table->header.sh_link >= sections_.size()) return;
    const auto strings = content(sections_[table->header.sh_link].header);
    const auto symbols = content(table->header);
    for (std::uint32_t i = 0; (i + 1) * sizeof(Elf64_Sym) <= symbols.size(); ++i) {
      const auto symbol = *read_at<Elf64_Sym>(symbols, i * sizeof(Elf64_Sym));
      visit(i, text_at(strings, symbol.st_name), symbol);
    }
  }

 private:
  std::span<const std::byte> bytes_;
  std::vector<Section> sections_;
};

/// Calls visit(attribute, words) for what has data.
void each_attribute(std::span<const std::byte> info,
                    const std::function<void(std::uint8_t, std::span<const std::byte>)>& visit) {
  for (std::uint64_t at = 0; at + 4 <= info.size();) {
    const auto format = *read_at<std::uint8_t>(info, at);
    const auto attribute = *read_at<std::uint8_t>(info, at + 1);
    const auto length = *read_at<std::uint16_t>(info, at + 2);
    at += 4;
    if (format != format_sized) continue;
    const auto data = slice(info, at, length);
    if (!data) return;
    visit(attribute, *data);
    at += length;
  }
}

int word(std::span<const std::byte> data, std::size_t index) {
  return static_cast<int>(read_at<std::uint32_t>(data, index * sizeof(std::uint32_t)).value_or(0));
}

void read_kernel(const Elf& elf, CubinKernel& kernel) {
  if (const Section* shared = elf.section(".nv.shared." + kernel.name)) {
    const int all = static_cast<int>(shared->header.sh_size);
    kernel.lds_bytes = elf.section(reserved_section) != nullptr ? std::max(0, all - reserved_bytes) : all;
  }
  if (const Section* info = elf.section(".nv.info." + kernel.name)) {
    each_attribute(elf.content(info->header), [&](std::uint8_t attribute, std::span<const std::byte> data) {
      if (attribute == max_threads_attribute) kernel.max_threads = word(data, 0) * word(data, 1) * word(data, 2);
      if (attribute == parameter_attribute || attribute == new_parameter_attribute) ++kernel.parameters;
    });
  }
}

}  // namespace

bool is_cubin(std::span<const std::byte> bytes) {
  const auto header = read_at<Elf64_Ehdr>(bytes, 0);
  return header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == ELFCLASS64 &&
         header->e_machine == machine_cuda;
}

Cubin read_cubin(std::span<const std::byte> bytes, std::string_view where) {
  if (!is_cubin(bytes)) fail(ErrorKind::bad_data, "{}: is no cubin; expected what NVRTC, nvcc or Triton write", where);
  const auto header = *read_at<Elf64_Ehdr>(bytes, 0);
  Cubin cubin;
  const bool wide = header.e_ident[EI_ABIVERSION] >= first_abi_with_wide_flags;
  cubin.arch = fmt::format("sm_{}", (wide ? header.e_flags >> 8 : header.e_flags) & 0xFF);
  const Elf elf(bytes);
  std::vector<std::uint32_t> symbols;  // of the kernels, in the same order
  elf.each_symbol([&](std::uint32_t index, std::string_view name, const Elf64_Sym& symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || (symbol.st_other & entry_mark) == 0) return;
    CubinKernel kernel;
    kernel.name = std::string(name);
    read_kernel(elf, kernel);
    cubin.kernels.push_back(std::move(kernel));
    symbols.push_back(index);
  });
  if (const Section* info = elf.section(".nv.info")) {
    each_attribute(elf.content(info->header), [&](std::uint8_t attribute, std::span<const std::byte> data) {
      const auto found = std::find(symbols.begin(), symbols.end(), static_cast<std::uint32_t>(word(data, 0)));
      if (found == symbols.end()) return;
      CubinKernel& kernel = cubin.kernels[static_cast<std::size_t>(found - symbols.begin())];
      if (attribute == registers_attribute) kernel.registers = word(data, 1);
      if (attribute == frame_size_attribute) kernel.stack_bytes = word(data, 1);
    });
  }
  return cubin;
}

bool cubin_defines(std::span<const std::byte> bytes, std::string_view wanted) {
  if (!is_cubin(bytes)) return false;
  bool found = false;
  Elf(bytes).each_symbol([&](std::uint32_t, std::string_view name, const Elf64_Sym& symbol) {
    found = found || (name == wanted && symbol.st_shndx != SHN_UNDEF);
  });
  return found;
}

std::span<const std::byte> cubin_at(const void* image) {
  const auto* begin = static_cast<const std::byte*>(image);
  // A text of PTX may be shorter than a header: look at the magic first.
  if (begin == nullptr || std::memcmp(begin, ELFMAG, SELFMAG) != 0) return {};
  Elf64_Ehdr header;
  std::memcpy(&header, begin, sizeof header);
  std::uint64_t end = std::max(header.e_shoff + std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr),
                               header.e_phoff + std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  for (std::uint32_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, begin + header.e_shoff + std::uint64_t{i} * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
  }
  return {begin, end};
}

}  // namespace wavetune::hip::cuda
