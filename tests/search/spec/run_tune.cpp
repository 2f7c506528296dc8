#include "tests/search/spec/run_tune.h"

#include <gtest/gtest.h>

#include "db/base/file.h"

namespace wavetune::test {

SpecFolder::SpecFolder() { std::filesystem::copy(WAVETUNE_SOURCE_DIR "/tests/data/spec", folder()); }

void SpecFolder::edit(const std::string& name, const std::string& from, const std::string& to) const {
  std::string text = read_file(path(name));
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  write_file_atomic(path(name), text);
}

TuneRun SpecFolder::tune(const std::string& spec, std::vector<std::string> more) const {
  std::vector<std::string> arguments = {"tune",     "--spec", path(spec).string(), "--db", database().string(),
                                        "--device", "cpu",    "--budget",          "none"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(std::move(arguments));
}

TuneRun SpecFolder::run(std::vector<std::string> arguments, std::chrono::milliseconds patience) const {
  process::SubprocessOptions options;
  options.arguments = std::move(arguments);
  options.arguments.insert(options.arguments.begin(), WAVETUNE_BINARY);
  options.environment = {{"WAVETUNE_CACHE_DIR", scratch_.cache().string()}};
  options.error_to_output = true;
  const process::CaptureResult result = process::run_and_capture(options, "", patience);
  return {result.timed_out || result.status.signal != 0 ? -1 : result.status.code, result.output};
}

}  // namespace wavetune::test
