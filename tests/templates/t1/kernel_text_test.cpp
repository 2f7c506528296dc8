// The source of a kernel from outside: includes, plain names, parameters that do not fit.
#include "templates/t1/kernel_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "db/base/error.h"
#include "db/base/file.h"

namespace wavetune::templates {
namespace {

using testing::HasSubstr;
using testing::Not;

class KernelText : public testing::Test {
 protected:
  KernelText()
      : folder_(std::filesystem::temp_directory_path() / ("wavetune-text-" + std::to_string(std::random_device()()))) {
    std::filesystem::create_directories(folder_ / "inner");
  }
  ~KernelText() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const { write_file_atomic(folder_ / name, text); }
  std::string read(const std::string& name) const { return read_kernel_text(folder_ / name); }

  std::filesystem::path folder_;
};

TEST_F(KernelText, PutsIncludedFilesInPlaceAndLeavesHeadersOut) {
  write("a.cu",
        "#include <hip/hip_runtime.h>\n#include \"inner/b.h\"\n#include \"inner/b.h\"\n#include <other.h>\nint a;\n");
  write("inner/b.h", "#pragma once\n#include \"c.h\"\nint b;\n");
  write("inner/c.h", "int c;\n");
  EXPECT_EQ(read("a.cu"),
            "#line 1 \"a.cu\"\n\n#line 1 \"b.h\"\n\n#line 1 \"c.h\"\nint c;\n#line 3 \"b.h\"\nint b;\n"
            "#line 3 \"a.cu\"\n#line 1 \"b.h\"\n#line 4 \"a.cu\"\n#include <other.h>\nint a;\n");
}

TEST_F(KernelText, LooksForIncludesOnlyOutsideOfComments) {
  write("a.cu", "/* text\n#include \"b.h\"\n*/\n// #include \"b.h\"\nint a;\n");
  write("b.h", "int b;\n");
  EXPECT_THAT(read("a.cu"), Not(HasSubstr("int b")));
}

TEST_F(KernelText, FilesThatIncludeThemselvesEnd) {
  write("a.cu", "#include \"a.cu\"\n");
  EXPECT_THROW(read("a.cu"), Error);
  EXPECT_THROW(read("absent.cu"), Error);
}

std::vector<KernelArgument> arguments() {
  KernelArgument x;
  x.name = "x";
  x.type = *kernel_type("float");
  x.vector = true;
  KernelArgument n;
  n.name = "n";
  n.type = *kernel_type("int32");
  return {x, n};
}

struct Source {
  const char* name;
  const char* text;
  const char* gives;  ///< a part of the text, or of the message when `fails`
  bool fails;
};

class PlainName : public testing::TestWithParam<Source> {};

TEST_P(PlainName, OfTheKernel) {
  const std::vector<KernelArgument> list = arguments();
  try {
    const std::string text = with_plain_name(GetParam().text, "k", "my.json", list);
    EXPECT_FALSE(GetParam().fails) << text;
    EXPECT_THAT(text, HasSubstr(GetParam().gives));
  } catch (const Error& error) {
    EXPECT_TRUE(GetParam().fails) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(GetParam().gives));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sources, PlainName,
    testing::Values(
        Source{"plain", "int a;\n__global__ void k(float* x, int n) {}", "int a;\nextern \"C\" __global__ void k",
               false},
        Source{"bounds", "__global__ void __launch_bounds__(a, (b)) k(const float* __restrict__ x, const int n) {}",
               "extern \"C\" __global__ void __launch_bounds__(a, (b)) k", false},
        Source{"in_namespace", "namespace a {\n#define B 1\n__global__ void k(float *x, int n) {}\n}",
               "#define B 1\nextern \"C\" __global__", false},
        Source{"already", "extern \"C\" __global__ void k(float x[], int n) {}", "extern \"C\" extern \"C\" __global__",
               false},
        Source{"own_types", "__global__ void k(real* x, T n) {}", "extern \"C\" __global__", false},
        Source{"conditional_list", "__global__ void k(float* x,\n#if A\n int n, int m\n#else\n int n\n#endif\n) {}",
               "extern \"C\"", false},
        Source{"behind_comments", "// __global__ void k(int a) {}\n__global__ void k(float* x, int n) {}",
               "\nextern \"C\" __global__", false},
        Source{"absent", "__global__ void a() {} __global__ void b() {}", "no __global__ function 'k'; there are: a, b",
               true},
        Source{"template", "template <class T> __global__ void k(T* x, int n) {}", "'k' is a template", true},
        Source{"too_few", "__global__ void k(float* x) {}", "the kernel 'k' has 1 parameters, and Arguments has 2",
               true},
        Source{"none", "__global__ void k() {}", "has 0 parameters", true},
        Source{"scalar", "__global__ void k(float x, int n) {}",
               "my.json.Arguments[0]: 'x' is a Vector, and the kernel's parameter is 'float x'", true},
        Source{"pointer", "__global__ void k(float* x, int* n) {}", "'n' is a Scalar", true},
        Source{"width", "__global__ void k(float* x, long long n) {}", "'n' is of type int32", true},
        Source{"other_float", "__global__ void k(const double* x, int n) {}", "'x' is of type float", true}),
    [](const auto& source) { return std::string(source.param.name); });

TEST(KernelUnit, DefinesParametersAsTheyAreWritten) {
  const std::string unit =
      kernel_unit({{"a", Value(3)}, {"b", Value(true)}, {"c", Value(0.5)}, {"d", Value("float4")}}, "code");
  EXPECT_THAT(unit, HasSubstr("#define a 3\n#define b 1\n#define c 0.5\n#define d float4\ncode"));
}

TEST(KernelType, KnowsTheNames) {
  EXPECT_EQ(kernel_type("float4")->bytes(), 16u);
  EXPECT_EQ(kernel_type("float3")->components, 3);
  EXPECT_EQ(kernel_type("std::uint8_t")->dtype, DType::u8);
  EXPECT_EQ(kernel_type("unsigned long long")->bytes(), 8u);
  for (const char* name : {"", "flot", "float5", "4", "void", "half2"}) EXPECT_FALSE(kernel_type(name)) << name;
}

}  // namespace
}  // namespace wavetune::templates
