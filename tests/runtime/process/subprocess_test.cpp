#include "runtime/process/subprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "db/base/error.h"
#include "db/base/file.h"

namespace wavetune::process {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

SubprocessOptions shell(const std::string& script) {
  SubprocessOptions options;
  options.arguments = {"sh", "-c", script};
  return options;
}

TEST(Subprocess, CapturesOutputExitCodeAndInput) {
  SubprocessOptions options = shell("cat; echo to-error >&2; exit 3");
  options.error_to_output = true;
  const std::string input(300'000, 'x');  // more than a pipe holds
  const CaptureResult result = run_and_capture(options, input);
  EXPECT_EQ(result.status.code, 3);
  EXPECT_EQ(result.status.signal, 0);
  EXPECT_EQ(result.output, input + "to-error\n");
  EXPECT_EQ(result.status.describe(), "exit code 3");
  EXPECT_EQ(run_and_capture(shell("head -c 100000 /dev/zero"), {}, 0ms, 10).output.size(), 10u);
  EXPECT_TRUE(run_and_capture(shell("exit 0"), input).status.ok()) << "a child that does not read its input";
}

TEST(Subprocess, EnvironmentAndWorkingDirectory) {
  setenv("WAVETUNE_TEST_REMOVED", "1", 1);
  SubprocessOptions options = shell("echo $A-$WAVETUNE_TEST_REMOVED-$(pwd)");
  options.environment = {{"A", "b c"}};
  options.unset_environment = {"WAVETUNE_TEST_REMOVED"};
  options.working_directory = "/";
  EXPECT_EQ(run_and_capture(options).output, "b c--/\n");
}

TEST(Subprocess, NicenessIsAddedToTheParents) {
  SubprocessOptions options = shell("nice");
  const int own = std::stoi(run_and_capture(options).output);
  options.niceness = 3;
  EXPECT_EQ(std::stoi(run_and_capture(options).output), std::min(19, own + 3));
}

TEST(Subprocess, WhatCannotBeStartedIsNamed) {
  SubprocessOptions options;
  options.arguments = {"/no/such/program"};
  try {
    Subprocess child(options);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_THAT(error.what(), HasSubstr("/no/such/program"));
    EXPECT_THAT(error.what(), HasSubstr("No such file"));
  }
}

TEST(Subprocess, TimeoutsKillTheWholeGroup) {
  TemporaryDirectory folder;
  const std::string file = (folder.path() / "pid").string();
  const CaptureResult result = run_and_capture(shell("sleep 100 & echo $! > " + file + "; wait"), {}, 300ms);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.status.signal, SIGKILL);
  EXPECT_THAT(result.status.describe(), HasSubstr("signal 9"));
  const int grandchild = std::atoi(read_file(file).c_str());
  ASSERT_GT(grandchild, 0);
  for (int i = 0; i < 500 && kill(grandchild, 0) == 0; ++i) {
    // A zombie that init has not reaped yet still answers.
    std::ifstream status("/proc/" + std::to_string(grandchild) + "/stat");
    std::string text((std::istreambuf_iterator<char>(status)), {});
    if (text.find(") Z") != std::string::npos) break;
    usleep(10'000);
    ASSERT_LT(i, 499) << "the grandchild lives";
  }
}

TEST(Subprocess, WaitForAndRunning) {
  Subprocess child(shell("read line; exit 7"));
  EXPECT_TRUE(child.running());
  EXPECT_FALSE(child.wait_for(20ms).has_value());
  child.close_input();
  const auto status = child.wait_for(20s);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 7);
  EXPECT_FALSE(child.running());
  EXPECT_EQ(child.wait().code, 7);
  child.kill(SIGKILL);  // no effect, and no stranger with the same number is hit
}

TEST(Subprocess, MovesAndKillsInTheDestructor) {
  pid_t pid = 0;
  {
    Subprocess first(shell("sleep 100"));
    pid = first.pid();
    Subprocess second = std::move(first);
    EXPECT_EQ(second.pid(), pid);
    EXPECT_TRUE(second.running());
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST(Subprocess, MemoryLimitIsInherited) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer reserves more than any limit";
#endif
  SubprocessOptions options = shell("ulimit -v; ulimit -c");
  options.memory_limit_bytes = std::size_t{1} << 30;
  EXPECT_EQ(run_and_capture(options).output, "1048576\n0\n");
}

TEST(TemporaryDirectoryTest, IsRemovedWithItsContent) {
  std::filesystem::path path;
  {
    TemporaryDirectory folder("wavetune-test");
    path = folder.path();
    write_file_atomic(path / "a", "b");
    EXPECT_TRUE(std::filesystem::exists(path / "a"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace wavetune::process
