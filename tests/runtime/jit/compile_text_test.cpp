// The small parts of the compile service: logs, messages, code objects.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "db/base/error.h"
#include "runtime/jit/code_object.h"
#include "runtime/jit/compile_log.h"
#include "runtime/jit/packed_message.h"

namespace wavetune::jit {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

TEST(CleanLog, LeavesFileNamesWithoutTheTemporaryFolder) {
  EXPECT_EQ(clean_log("/tmp/w-1/comgr-3-0-ab/input/kernel.hip:3:1: error: no\nIn file '/tmp/w-1/x.cpp'\n", "/tmp/w-1"),
            "kernel.hip:3:1: error: no\nIn file 'x.cpp'");
  EXPECT_EQ(clean_log("/usr/include/a.h:1: note", "/tmp/w-1"), "/usr/include/a.h:1: note");
  EXPECT_EQ(clean_log("", "/tmp/w-1"), "");
}

TEST(CleanLog, CutsLongLogsAndSaysSo) {
  EXPECT_EQ(clean_log(std::string(100, 'x'), "", 10), std::string(10, 'x') + "\n[90 more bytes]");
}

TEST(PackedMessage, HeadAndPayloadSurvive) {
  const std::string payload("a\0b\xff", 4);
  const std::string message = pack_message({{"type", "x"}, {"n", 3}}, bytes_of(payload));
  std::span<const std::byte> got;
  const nlohmann::json head = unpack_message(message, got);
  EXPECT_EQ(head.at("n"), 3);
  EXPECT_TRUE(std::ranges::equal(got, bytes_of(payload)));
}

TEST(PackedMessage, TextThatIsNotUtf8IsRepaired) {
  std::span<const std::byte> got;
  EXPECT_NO_THROW(unpack_message(pack_message({{"log", "bad \xff byte"}}), got));
}

TEST(PackedMessage, GarbageIsRefused) {
  const std::string whole = pack_message({{"a", 1}});
  std::span<const std::byte> got;
  for (const std::string& message : {std::string(), std::string("1234567"), whole.substr(0, whole.size() - 1),
                                     std::string(16, '\xff'), std::string(8, '\0') + "{}"}) {
    EXPECT_THROW(unpack_message(message, got), Error);
  }
}

void append(std::vector<std::byte>& out, const void* data, std::size_t size) {
  const auto* begin = static_cast<const std::byte*>(data);
  out.insert(out.end(), begin, begin + size);
}

/// An ELF file with one note segment, as LLVM's AMDGPU back end writes it.
std::vector<std::byte> code_object(const nlohmann::json& metadata, const char name[8] = "AMDGPU\0") {
  const std::vector<std::uint8_t> description = nlohmann::json::to_msgpack(metadata);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  const Elf64_Nhdr note{7, static_cast<Elf64_Word>(description.size()), 32};
  Elf64_Phdr program{};
  program.p_type = PT_NOTE;
  program.p_offset = sizeof header + sizeof program;
  program.p_filesz = sizeof note + 8 + (description.size() + 3) / 4 * 4;
  std::vector<std::byte> file;
  append(file, &header, sizeof header);
  append(file, &program, sizeof program);
  append(file, &note, sizeof note);
  append(file, name, 8);
  append(file, description.data(), description.size());
  file.resize(program.p_offset + program.p_filesz);
  return file;
}

nlohmann::json two_kernels() {
  return {{"amdhsa.kernels",
           {{{".name", "a"},
             {".vgpr_count", 96},
             {".agpr_count", 32},
             {".sgpr_count", 40},
             {".group_segment_fixed_size", 0},
             {".private_segment_fixed_size", 0},
             {".vgpr_spill_count", 0}},
            {{".name", "b"},
             {".vgpr_count", 256},
             {".agpr_count", 0},
             {".sgpr_count", 30},
             {".group_segment_fixed_size", 65536},
             {".private_segment_fixed_size", 128},
             {".vgpr_spill_count", 3}}}}};
}

TEST(CodeObject, GivesTheLargestFiguresOfItsKernels) {
  const db::Resources resources = resources_of_code_object(code_object(two_kernels()));
  db::Resources expected;
  expected.vgpr = 256;
  expected.agpr = 32;
  expected.sgpr = 40;
  expected.lds_bytes = 65536;
  expected.scratch_bytes = 128;
  expected.spills = 3;
  EXPECT_EQ(resources, expected);
}

TEST(CodeObject, AnythingElseGivesNothing) {
  const db::Resources nothing;
  EXPECT_EQ(resources_of_code_object({}), nothing);
  EXPECT_EQ(resources_of_code_object(bytes_of("no ELF at all, but long enough to hold a header of one")), nothing);
  EXPECT_EQ(resources_of_code_object(code_object(two_kernels(), "NVIDIA\0")), nothing);
  EXPECT_EQ(resources_of_code_object(code_object({{"amdhsa.kernels", "no list"}})), nothing);
  const std::vector<std::byte> whole = code_object(two_kernels());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NO_THROW(resources_of_code_object(std::span(whole).first(size))) << size;
  }
}

}  // namespace
}  // namespace wavetune::jit
