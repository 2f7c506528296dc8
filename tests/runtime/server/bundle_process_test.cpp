// As a person would: tune, export a bundle, and serve from it on a machine without a compiler.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "client.h"
#include "db/base/file.h"
#include "runtime/process/subprocess.h"

namespace wavetune::server {
namespace {

const std::string demo = std::string(WAVETUNE_SOURCE_DIR) + "/model/demo";

class BundleProcess : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  static process::SubprocessOptions command(const std::vector<std::string>& words) {
    process::SubprocessOptions options;
    options.arguments = {WAVETUNE_BINARY};
    options.arguments.insert(options.arguments.end(), words.begin(), words.end());
    options.error_to_output = true;
    return options;
  }
  static std::string run(const std::vector<std::string>& words) {
    const process::CaptureResult result = process::run_and_capture(command(words));
    EXPECT_TRUE(result.status.ok()) << result.output;
    return result.output;
  }
  std::string export_to(const std::string& name) const {
    return run({"export", "--format", "bundle", "--db", path("demo.db"), "--model", demo, "--device", "cpu", "-o",
                path(name), "--max-context", "64", "--max-step-tokens", "16", "--max-sequences", "2"});
  }
  process::SubprocessOptions serve_without_compiler(const std::string& bundle) const {
    process::SubprocessOptions options =
        command({"serve", "--db", path(bundle), "--model", demo, "--device", "cpu", "--port", "0", "--max-context",
                 "64", "--max-step-tokens", "16", "--max-sequences", "2"});
    options.environment = {{"PATH", "/nonexistent"},
                           {"WAVETUNE_CPU_CXX", "/nonexistent/g++"},
                           {"WAVETUNE_CACHE_DIR", path("empty-cache")}};
    return options;
  }

  process::TemporaryDirectory folder_;
};

/// What the process says until a line with `word` is whole, or until it ends.
std::string read_line_with(int pipe, const std::string& word) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const std::size_t at = text.find(word);
    if (at != std::string::npos && text.find('\n', at) != std::string::npos) return text;
    const ssize_t count = ::read(pipe, buffer, sizeof buffer);
    if (count <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

TEST_F(BundleProcess, IsServedWhereNoCompilerIs) {
  run({"tune", "--model", demo, "--db", path("demo.db"), "--device", "cpu", "--op", "silu_mul,rmsnorm", "--trials", "2",
       "--budget", "none", "--concurrency", "2", "--prefill-tokens", "16"});
  const std::string said = export_to("tuned.wtb");
  EXPECT_NE(said.find("serves without compiling: demo"), std::string::npos) << said;
  export_to("again.wtb");
  const std::string bytes = read_file(path("tuned.wtb"));
  EXPECT_EQ(read_file(path("again.wtb")), bytes);

  process::Subprocess server(serve_without_compiler("tuned.wtb"));
  const std::string url = "listening on http://127.0.0.1:";
  const std::string start = read_line_with(server.output(), url);
  const std::size_t at = start.find(url);
  ASSERT_NE(at, std::string::npos) << start;
  EXPECT_NE(start.find(" 0 from the code cache, 0 compiled"), std::string::npos) << start;
  EXPECT_NE(start.find("frozen bundle"), std::string::npos) << start;
  Client client(static_cast<std::uint16_t>(std::stoi(start.substr(at + url.size()))));
  const ClientResponse answer =
      client.post("/v1/chat/completions",
                  R"({"model": "demo", "temperature": 0, "chat_template_kwargs": {"enable_thinking": false},
          "messages": [{"role": "user", "content": "What is 57 + 1?"}]})",
                  "Content-Type: application/json\r\n");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(nlohmann::json::parse(answer.body)["choices"][0]["message"]["content"], "58");
  server.kill(SIGTERM);
  EXPECT_TRUE(server.wait().ok());

  // Half of a copy is none.
  write_file_atomic(path("cut.wtb"), bytes.substr(0, bytes.size() / 2));
  const process::CaptureResult cut = process::run_and_capture(serve_without_compiler("cut.wtb"));
  EXPECT_EQ(cut.status.code, 1);
  EXPECT_NE(cut.output.find("changed or cut off"), std::string::npos) << cut.output;
}

}  // namespace
}  // namespace wavetune::server
