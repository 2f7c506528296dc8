// Real code objects: what hipRTC writes, read and taken apart again.
#include "runtime/isa/code_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/base/error.h"
#include "runtime/hip/amd/hiprtc_install.h"
#include "runtime/isa/disassembler.h"
#include "runtime/isa/kernel_report.h"
#include "runtime/isa/loops.h"
#include "runtime/isa/matrix_instruction.h"
#include "runtime/jit/compile_service.h"
#include "runtime/process/subprocess.h"

namespace wavetune::isa {
namespace {

using testing::HasSubstr;

// Eight dependent products a round, in a loop whose length is not known; 4096 bytes of static LDS.
constexpr const char* source = R"(
typedef float f32x4 __attribute__((ext_vector_type(4)));
extern "C" __global__ __launch_bounds__(256) void multiply(const float* a, float* out, int rounds) {
  __shared__ float lds[1024];
  lds[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  f32x4 c = {0, 0, 0, 0};
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    const float x = lds[(threadIdx.x + r) & 1023];
#pragma unroll
    for (int i = 0; i < 8; ++i) c = __builtin_amdgcn_mfma_f32_16x16x4f32(x, x, c, 0, 0, 0);
  }
  out[threadIdx.x] = c[0] + c[1] + c[2] + c[3];
}
extern "C" __global__ __launch_bounds__(64) void copy(const float* a, float* out) { out[threadIdx.x] = a[threadIdx.x]; }
)";

class CodeObjects : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() {
    for (const char* arch : {"gfx950", "gfx942"}) code_[arch].clear();
  }
  void SetUp() override {
    const hip::amd::HiprtcSearch search = hip::amd::find_hiprtc();
    if (!search.found) GTEST_SKIP() << "no hipRTC in " << search.looked << "; ./setup.sh fetches one";
  }
  /// Compiled once for each architecture.
  const std::vector<std::byte>& code() {
    std::vector<std::byte>& code = code_[GetParam()];
    if (code.empty()) {
      const process::TemporaryDirectory folder("wavetune-isa-test");
      jit::CompileOptions options;
      options.workers = 1;
      options.cache_directory = folder.path();
      options.worker_executable = WAVETUNE_BINARY;
      jit::CompileService service(options);
      jit::CompileResult result =
          service.compile({"hip", source, {std::string("--offload-arch=") + GetParam(), "-O3"}});
      EXPECT_EQ(result.outcome, db::Outcome::ok) << result.log;
      code = std::move(result.code);
    }
    return code;
  }

 private:
  static inline std::map<std::string, std::vector<std::byte>> code_;
};

TEST_P(CodeObjects, KernelsWithTheirFigures) {
  const CodeObject object = read_code_object(code(), "test");
  EXPECT_EQ(object.arch, GetParam());
  EXPECT_EQ(object.target, std::string("amdgcn-amd-amdhsa--") + GetParam());
  ASSERT_EQ(object.kernels.size(), 2u);
  const KernelCode& multiply = object.kernel("multiply");
  EXPECT_EQ(multiply.resources.lds_bytes, 4096);
  EXPECT_EQ(multiply.resources.spills, 0);
  EXPECT_EQ(multiply.max_threads, 256);
  EXPECT_GT(multiply.resources.vgpr.value_or(0), 4);
  EXPECT_EQ(object.kernel("copy").resources.lds_bytes, 0);
  EXPECT_EQ(object.kernel("copy").max_threads, 64);
  for (const std::string_view name : {"", "multiply_main"}) {
    try {
      (void)object.kernel(name);
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_THAT(error.what(), HasSubstr("multiply, copy"));
    }
  }
}

TEST_P(CodeObjects, DisassemblyCoversTheKernelAndFindsItsLoop) {
  const CodeObject object = read_code_object(code(), "test");
  const KernelCode& kernel = object.kernel("multiply");
  const std::vector<Instruction> instructions = disassemble(object, kernel, WAVETUNE_BINARY);
  ASSERT_FALSE(instructions.empty());
  EXPECT_EQ(instructions.front().address, kernel.address);
  EXPECT_EQ(instructions.back().address + static_cast<std::uint64_t>(instructions.back().size),
            kernel.address + kernel.code.size());
  int ends = 0;
  for (const Instruction& instruction : instructions) {
    if (instruction.mnemonic == "s_endpgm") ++ends;
    if (!instruction.target) continue;
    EXPECT_GE(*instruction.target, kernel.address) << instruction.text();
    EXPECT_LT(*instruction.target, kernel.address + kernel.code.size()) << instruction.text();
  }
  EXPECT_GE(ends, 1);

  const LoopReport report = report_loop(instructions, object.arch);
  EXPECT_TRUE(report.is_loop);
  EXPECT_EQ(report.count(Kind::mfma) % 8, 0);
  EXPECT_GE(report.count(Kind::mfma), 8);
  EXPECT_GE(report.count(Kind::lds), 1);
  EXPECT_EQ(report.count(Kind::global_load), 0);
  EXPECT_GE(report.count(Kind::branch), 1);
  EXPECT_EQ(report.flops, report.count(Kind::mfma) * 2.0 * 16 * 16 * 4);
  EXPECT_EQ(report.cycles.matrix, report.count(Kind::mfma) * 32);
}

TEST_P(CodeObjects, DamagedFilesAreNamed) {
  const std::vector<std::byte>& whole = code();
  for (const std::size_t size : {std::size_t{0}, std::size_t{3}, std::size_t{64}, whole.size() / 4, whole.size() / 2}) {
    try {
      (void)read_code_object(std::span(whole).first(size), "file.hsaco");
      ADD_FAILURE() << size;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_data);
      EXPECT_THAT(error.what(), testing::StartsWith("file.hsaco: "));
    }
  }
}

TEST_P(CodeObjects, WhatIsNoCodeIsSaidSo) {
  CodeObject object = read_code_object(code(), "test");
  KernelCode kernel = object.kernel("multiply");
  const std::vector<std::byte> garbage(64, std::byte{0xff});
  kernel.code = garbage;
  try {
    (void)disassemble(object, kernel, WAVETUNE_BINARY);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_data);
    EXPECT_THAT(error.what(), HasSubstr("no instruction at offset 0 of 64"));
  }
  object.target = "amdgcn-amd-amdhsa--gfx9999";
  EXPECT_THROW((void)disassemble(object, object.kernel("multiply"), WAVETUNE_BINARY), Error);
}

INSTANTIATE_TEST_SUITE_P(Hiprtc, CodeObjects, testing::Values("gfx950", "gfx942"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace wavetune::isa
