// What is made of hipRTC's answers, with a table that answers as hipRTC does in its odd moments.
#include "runtime/jit/rtc_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace wavetune::jit {
namespace {

hiprtcResult answer = HIPRTC_SUCCESS;
std::string text;
std::string bytes;

hip::Api table() {
  hip::Api api;
  api.hiprtcCreateProgram = [](hiprtcProgram*, const char*, const char*, int, const char* const*, const char* const*) {
    return HIPRTC_SUCCESS;
  };
  api.hiprtcCompileProgram = [](hiprtcProgram, int, const char* const*) { return answer; };
  api.hiprtcGetProgramLogSize = [](hiprtcProgram, size_t* size) {
    *size = text.empty() ? 0 : text.size() + 1;
    return HIPRTC_SUCCESS;
  };
  api.hiprtcGetProgramLog = [](hiprtcProgram, char* out) {
    std::memcpy(out, text.c_str(), text.size() + 1);
    return HIPRTC_SUCCESS;
  };
  api.hiprtcGetCodeSize = [](hiprtcProgram, size_t* size) {
    *size = bytes.size();
    return HIPRTC_SUCCESS;
  };
  api.hiprtcGetCode = [](hiprtcProgram, char* out) {
    std::memcpy(out, bytes.data(), bytes.size());
    return HIPRTC_SUCCESS;
  };
  api.hiprtcDestroyProgram = [](hiprtcProgram*) { return HIPRTC_SUCCESS; };
  api.hiprtcGetErrorString = [](hiprtcResult) { return "HIPRTC_ERROR_COMPILATION"; };
  return api;
}

struct Case {
  const char* name;
  hiprtcResult result;
  const char* log;
  const char* code;
  std::vector<std::string> options;
  bool ok;
  const char* says;
};

TEST(RtcProgram, ReadsAnswersForWhatTheyAre) {
  const Case cases[] = {
      {"plain success", HIPRTC_SUCCESS, "", "code", {"--offload-arch=gfx950"}, true, ""},
      {"success with a warning",
       HIPRTC_SUCCESS,
       "kernel.hip:1:1: warning: error: not\n",
       "code",
       {"--offload-arch=gfx950"},
       true,
       "warning"},
      {"success with an error", HIPRTC_SUCCESS, "error: cannot\n", "code", {"--offload-arch=gfx950"}, false, "cannot"},
      {"success without code", HIPRTC_SUCCESS, "", "", {"--offload-arch=gfx950"}, false, "gives no code object"},
      {"error with a log", HIPRTC_ERROR_COMPILATION, "kernel.hip:1:1: error: x", "", {}, false, "error: x"},
      {"error without a log, architecture named",
       HIPRTC_ERROR_COMPILATION,
       "",
       "",
       {"-O3", "--offload-arch=gfx9000"},
       false,
       "does not know the architecture 'gfx9000'"},
      {"error without a log, no architecture", HIPRTC_ERROR_COMPILATION, "", "", {"-O3"}, false, "no --offload-arch"},
      {"two architectures",
       HIPRTC_SUCCESS,
       "",
       "code",
       {"--offload-arch=a", "--offload-arch=b"},
       false,
       "2 --offload-arch options (a, b)"}};
  const hip::Api api = table();
  for (const Case& item : cases) {
    answer = item.result;
    text = item.log;
    bytes = item.code;
    const RtcResult result = compile_program(api, "source", item.options);
    EXPECT_EQ(result.outcome == db::Outcome::ok, item.ok) << item.name;
    EXPECT_EQ(result.code.empty(), !item.ok) << item.name;
    EXPECT_THAT(result.log, testing::HasSubstr(item.says)) << item.name;
  }
}

TEST(RtcProgram, AnUnusableTemporaryFolderIsTheReasonGiven) {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/nowhere/at/all", 1);
  answer = HIPRTC_ERROR_COMPILATION;
  text.clear();
  const RtcResult result = compile_program(table(), "source", {"--offload-arch=gfx950"});
  if (kept.empty())
    ::unsetenv("TMPDIR");
  else
    ::setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_THAT(result.log, testing::HasSubstr("temporary folder cannot be written to (/nowhere/at/all"));
}

}  // namespace
}  // namespace wavetune::jit
