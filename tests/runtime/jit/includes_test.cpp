#include "runtime/jit/includes.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "db/base/file.h"
#include "runtime/process/subprocess.h"

namespace wavetune::jit {
namespace {

class Includes : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) {
    const std::filesystem::path file = directory_.path() / name;
    std::filesystem::create_directories(file.parent_path());
    write_file_atomic(file, content);
  }
  std::vector<std::string> options() const { return {"-O3", "-I" + directory_.path().string()}; }

  process::TemporaryDirectory directory_{"wavetune-includes-test"};
};

TEST_F(Includes, ChangesWithEveryFileThatIsReached) {
  write("a.h", "#pragma once\n  #  include \"sub/b.h\"\n");
  write("sub/b.h", "#include \"c.h\"\n");
  write("sub/c.h", "int c = 1;\n");
  write("unused.h", "int u;\n");
  const std::string source = "#include <a.h>\n#include <hip/hip_runtime.h>\nint main;\n";
  const std::string before = includes_fingerprint(source, options());
  EXPECT_FALSE(before.empty());
  EXPECT_EQ(includes_fingerprint(source, {"-O3", "-I", directory_.path().string()}), before);
  write("unused.h", "int v;\n");
  EXPECT_EQ(includes_fingerprint(source, options()), before);
  write("sub/c.h", "int c = 2;\n");
  EXPECT_NE(includes_fingerprint(source, options()), before);
}

TEST_F(Includes, EndsWithFilesThatIncludeEachOther) {
  write("a.h", "#include \"b.h\"");
  write("b.h", "#include \"a.h\"\n");
  EXPECT_FALSE(includes_fingerprint("#include \"a.h\"\n", options()).empty());
}

TEST_F(Includes, NothingIsReadWithoutAnIncludeFolder) {
  write("a.h", "int a;\n");
  EXPECT_EQ(includes_fingerprint("#include \"a.h\"\n", {"-O3"}), "");
  EXPECT_EQ(includes_fingerprint("#include \"b.h\"\n#include NAME\n#include \"open\n", options()), "");
}

}  // namespace
}  // namespace wavetune::jit
