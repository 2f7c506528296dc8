#include "runtime/hip/cuda/cubin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cubin_builder.h"
#include "db/base/error.h"
#include "runtime/isa/code_object.h"
#include "runtime/jit/code_object.h"
#include "tests/support/error_of.h"

namespace wavetune::hip::cuda {
namespace {

using testing::HasSubstr;

TEST(Cubin, SaysWhatItsKernelsNeed) {
  const std::vector<std::byte> code = test::two_functions().build();
  ASSERT_TRUE(is_cubin(code));
  const Cubin cubin = read_cubin(code, "test");
  EXPECT_EQ(cubin.arch, "sm_90");
  ASSERT_EQ(cubin.kernels.size(), 1u);
  const CubinKernel& kernel = cubin.kernels[0];
  EXPECT_EQ(kernel.name, "k");
  EXPECT_EQ(kernel.registers, 44);
  EXPECT_EQ(kernel.lds_bytes, 1200) << "without the system's kilobyte";
  EXPECT_EQ(kernel.stack_bytes, 8);
  EXPECT_EQ(kernel.max_threads, 256);

  const db::Resources resources = jit::resources_of_code_object(code);
  EXPECT_EQ(resources.vgpr, 44);
  EXPECT_EQ(resources.lds_bytes, 1200);
  EXPECT_EQ(resources.scratch_bytes, 8);
  EXPECT_FALSE(resources.spills) << "only the compiler's log says it";
  const isa::CodeObject object = isa::read_code_object(code, "test");
  EXPECT_EQ(object.arch, "sm_90");
  EXPECT_EQ(object.kernel("k").max_threads, 256);
  EXPECT_TRUE(object.kernel("k").code.empty());
}

TEST(Cubin, OlderOnesKeepTheArchitectureElsewhereAndHaveNoSystemsShare) {
  test::CubinBuilder builder;
  builder.symbol("k", STT_FUNC, test::kernel_mark);
  builder.add(".nv.shared.k", SHT_NOBITS, "", 1200);
  const Cubin cubin = read_cubin(builder.build(7, 0x500550), "test");
  EXPECT_EQ(cubin.arch, "sm_80");
  EXPECT_EQ(cubin.kernels.at(0).lds_bytes, 1200);
  EXPECT_EQ(cubin.kernels.at(0).registers, 0) << "not said";
}

TEST(Cubin, CountsParameters) {
  test::CubinBuilder builder;
  builder.symbol("none", STT_FUNC, test::kernel_mark);
  builder.symbol("two", STT_FUNC, test::kernel_mark);
  builder.add(".nv.info.two", SHT_LOPROC,
              test::CubinBuilder::attribute(0x17, {0, 0x80001, 0x21F000}) +
                  test::CubinBuilder::attribute(0x17, {0, 0, 0x21F000}));
  const Cubin cubin = read_cubin(builder.build(), "test");
  EXPECT_EQ(cubin.kernels.at(0).parameters, 0);
  EXPECT_EQ(cubin.kernels.at(1).parameters, 2);
}

TEST(Cubin, DefinesASymbolAlsoOfInternalLinkage) {
  test::CubinBuilder builder = test::two_functions();
  builder.symbol("wt_overlaps_predecessor", STT_OBJECT, 0);
  builder.symbol("elsewhere", STT_OBJECT, 0, SHN_UNDEF);
  const std::vector<std::byte> code = builder.build();
  EXPECT_TRUE(cubin_defines(code, "wt_overlaps_predecessor"));
  EXPECT_FALSE(cubin_defines(code, "elsewhere"));
  EXPECT_FALSE(cubin_defines(code, "wt_overlaps"));
  EXPECT_EQ(cubin_at(code.data()).size(), code.size()) << "its length is in its headers";
  EXPECT_TRUE(cubin_at(".version 8.7").empty());
  EXPECT_TRUE(cubin_at(nullptr).empty());
}

TEST(Cubin, DamagedFilesAreSurvived) {
  const std::vector<std::byte> whole = test::two_functions().build();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto part = std::span(whole).first(size);
    EXPECT_NO_THROW(jit::resources_of_code_object(part)) << size;
    EXPECT_NO_THROW(cubin_defines(part, "k")) << size;
  }
  EXPECT_THAT(wavetune::test::error_of([] { read_cubin({}, "file.cubin"); }).what(),
              HasSubstr("file.cubin: is no cubin"));
}

}  // namespace
}  // namespace wavetune::hip::cuda
