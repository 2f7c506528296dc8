#include "runtime/hip/cpu/rewrite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace wavetune::hip::cpu {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Rewrite, FindsKernelsAndTheirLaunchBounds) {
  const Rewritten result = rewrite_for_cpu(R"(
    // __global__ void commented(int) {}
    const char* text = "__global__ void quoted() {";
    extern "C" __global__ void declared(int a);
    extern "C" __global__ __launch_bounds__(cfg::threads, 2) void before(int a) { }
    extern "C" __global__ void __launch_bounds__(f(1, 2)) after(int a) { }
    namespace a { namespace b { __global__ void inner() {} } }
    template <class T> __global__ void generic(T t) {}
  )");
  EXPECT_THAT(result.kernels, testing::ElementsAre("before", "after", "inner"));
  EXPECT_THAT(result.text, HasSubstr("Kernel<&::before>::entry(\"before\", static_cast<unsigned>(cfg::threads))"));
  EXPECT_THAT(result.text, HasSubstr("Kernel<&::after>::entry(\"after\", static_cast<unsigned>(f(1, 2)))"));
  EXPECT_THAT(result.text, HasSubstr("Kernel<&::a::b::inner>::entry(\"inner\", max_threads)"));
}

TEST(Rewrite, SharedDeclarations) {
  struct Case {
    const char* declaration;
    const char* expected;
  };
  const Case cases[] = {
      {"__shared__ float tile[4][N + 1];", "typedef float wt_type_tile [4][N + 1];"},
      {"__shared__ wt::vec<4> rows[2];", "typedef wt::vec<4> wt_type_rows [2];"},
      {"__shared__ pair<int, float> x, y[3];", "typedef pair<int, float> wt_type_y [3];"},
      {"static __shared__ unsigned int count;", "typedef unsigned int wt_type_count ;"},
      {"__shared__ alignas(16) unsigned char raw[8];", "typedef unsigned char wt_type_raw [8];"},
      {"extern __shared__ char bytes[];", "char* const bytes = wt_cpu::dynamic_lds<char>();"},
      {"extern __shared__ __align__(16) float4 v[];", "float4* const v = wt_cpu::dynamic_lds<float4>();"},
  };
  for (const Case& c : cases) {
    const Rewritten result = rewrite_for_cpu(std::string("__global__ void k() { if (1) { ") + c.declaration + " } }");
    EXPECT_THAT(result.text, HasSubstr(c.expected));
    EXPECT_THAT(result.text, Not(HasSubstr("__shared__"))) << c.declaration;
  }
  EXPECT_THAT(rewrite_for_cpu("extern __shared__ float all[];\n__global__ void k() {}").text,
              HasSubstr("#define all (wt_cpu::dynamic_lds<float>())"));
  EXPECT_THAT(rewrite_for_cpu("namespace a { __shared__ float x; }").text, HasSubstr("#error"));
}

TEST(Rewrite, KeepsLineNumbersAndSurvivesBrokenSource) {
  const std::string source = "__global__ void k() {\n  __shared__ float\n    a[4],\n    b[5];\n  mark;\n}\n";
  const std::string text = rewrite_for_cpu(source).text;
  EXPECT_EQ(std::count(text.begin(), text.begin() + static_cast<long>(text.find("mark;")), '\n'), 4);
  const std::string pieces[] = {"__shared__",
                                "__shared__ ;",
                                "__shared__ float x[",
                                "__global__",
                                "__global__ void",
                                "__global__ k(",
                                "extern \"C",
                                "/* open",
                                "R\"(open",
                                "#define X \\",
                                "'",
                                "}}}{{{",
                                "__shared__ float<",
                                "",
                                "__global__ void k() { __shared__ alignas("};
  for (const std::string& piece : pieces) (void)rewrite_for_cpu(piece);
}

}  // namespace
}  // namespace wavetune::hip::cpu
