// Cubins made by hand: only what runtime/hip/cuda/cubin.cpp looks at.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace wavetune::hip::cuda::test {

class CubinBuilder {
 public:
  CubinBuilder() { add("", SHT_NULL, ""); }

  /// `size` counts for sections without content (.nv.shared.*).
  void add(const std::string& name, std::uint32_t type, const std::string& content, std::uint64_t size = 0,
           std::uint32_t link = 0) {
    Elf64_Shdr header{};
    header.sh_name = static_cast<Elf64_Word>(names_.size());
    header.sh_type = type;
    header.sh_size = type == SHT_NOBITS ? size : content.size();
    header.sh_link = link;
    names_ += name + '\0';
    sections_.emplace_back(header, content);
  }
  /// Symbols are numbered from 1 in this order.
  void symbol(const std::string& name, unsigned char type, unsigned char other, std::uint16_t section = 1) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(symbol_names_.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, type);
    symbol.st_other = other;
    symbol.st_shndx = section;
    symbol_names_ += name + '\0';
    symbols_.append(reinterpret_cast<const char*>(&symbol), sizeof symbol);
  }
  /// One entry of a .nv.info section.
  static std::string attribute(std::uint8_t number, std::initializer_list<std::uint32_t> words) {
    std::string text{'\x04', static_cast<char>(number), static_cast<char>(words.size() * 4), '\0'};
    for (const std::uint32_t word : words) text.append(reinterpret_cast<const char*>(&word), sizeof word);
    return text;
  }

  std::vector<std::byte> build(unsigned char abi = 8, std::uint32_t flags = 0x6005A04) {
    add(".strtab", SHT_STRTAB, symbol_names_);
    add(".symtab", SHT_SYMTAB, symbols_, 0, static_cast<std::uint32_t>(sections_.size() - 1));
    add(".shstrtab", SHT_STRTAB, "");
    sections_.back().second = names_;
    sections_.back().first.sh_size = names_.size();
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_ABIVERSION] = abi;
    header.e_machine = 190;
    header.e_flags = flags;
    header.e_shnum = static_cast<Elf64_Half>(sections_.size());
    header.e_shstrndx = static_cast<Elf64_Half>(sections_.size() - 1);
    std::string body;
    for (auto& [section, content] : sections_) {
      section.sh_offset = sizeof header + body.size();
      body += content;
    }
    header.e_shoff = sizeof header + body.size();
    std::string file(reinterpret_cast<const char*>(&header), sizeof header);
    file += body;
    for (const auto& [section, content] : sections_)
      file.append(reinterpret_cast<const char*>(&section), sizeof section);
    const auto* begin = reinterpret_cast<const std::byte*>(file.data());
    return {begin, begin + file.size()};
  }

 private:
  std::string names_, symbol_names_ = std::string(1, '\0'), symbols_ = std::string(sizeof(Elf64_Sym), '\0');
  std::vector<std::pair<Elf64_Shdr, std::string>> sections_;
};

inline constexpr unsigned char kernel_mark = 0x10;

/// Kernel "k" with 44 registers, 1200 bytes of static shared memory, 8 bytes of stack and at most 256 threads, "helper"
/// that is none.
inline CubinBuilder two_functions() {
  CubinBuilder builder;
  builder.symbol("helper", STT_FUNC, 0);
  builder.symbol("k", STT_FUNC, kernel_mark);
  builder.add(".nv.info", SHT_LOPROC,
              CubinBuilder::attribute(0x2F, {1, 200}) + CubinBuilder::attribute(0x2F, {2, 44}) +
                  CubinBuilder::attribute(0x11, {2, 8}) + CubinBuilder::attribute(0x12, {2, 9999}));
  // An attribute without a length in front.
  builder.add(".nv.info.k", SHT_LOPROC,
              std::string("\x02\x4C\x00\x01", 4) + CubinBuilder::attribute(0x05, {256, 1, 1}));
  builder.add(".nv.shared.reserved.0", SHT_NOBITS, "");
  builder.add(".nv.shared.k", SHT_NOBITS, "", 1200 + 1024);
  return builder;
}

}  // namespace wavetune::hip::cuda::test
