// Mistakes on serve's command line: one clear line each, before anything is loaded.
#include "runtime/server/serve_command.h"

#include <gmock/gmock.h>

#include "db/base/error.h"

namespace wavetune {
namespace {

TEST(ServeCommand, MistakesAreOneClearLine) {
  struct Case {
    std::vector<std::string> args;
    ErrorKind kind;
    const char* part;
  };
  const std::string demo = WAVETUNE_SOURCE_DIR "/model/demo";
  const Case cases[] = {{{}, ErrorKind::usage, "--model"},
                        {{"--model", demo, "--port", "70000"}, ErrorKind::usage, "--port 70000"},
                        {{"--model", demo, "--tp", "0"}, ErrorKind::usage, "--tp 0"},
                        {{"--model", demo, "--max-context", "-5"}, ErrorKind::usage, "--max-context -5"},
                        {{"--model", demo, "--drain", "soon"}, ErrorKind::usage, "soon"},
                        {{"--model", demo, "--graphs", "maybe"}, ErrorKind::usage, "--graphs 'maybe'"},
                        {{"--model", demo, "--port", "0", "--host", "no such host"}, ErrorKind::usage, "no such host"},
                        {{"--model", "/no/such/model"}, ErrorKind::not_found, "/no/such/model"}};
  for (const Case& one : cases) {
    try {
      serve_command(one.args);
      ADD_FAILURE() << "no error for " << testing::PrintToString(one.args);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), one.kind) << error.what();
      EXPECT_THAT(error.what(), testing::HasSubstr(one.part));
      EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("\n")));
    }
  }
}

TEST(ServeCommand, HelpHasExamples) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(serve_command({"--help"}), 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), testing::HasSubstr("Examples:"));
}

}  // namespace
}  // namespace wavetune
