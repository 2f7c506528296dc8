// `wavetune tune --spec`, run as a user runs it, on copies of the kernels in tests/data/spec.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/search/support/scratch.h"

namespace wavetune::test {

struct TuneRun {
  int exit_code = -1;
  std::string output;  ///< standard output and error
};

class SpecFolder {
 public:
  SpecFolder();

  std::filesystem::path path(const std::string& name) const { return folder() / name; }
  std::filesystem::path database() const { return scratch_.database(); }
  const Scratch& scratch() const { return scratch_; }
  /// Replaces the one place where `from` stands in a file.
  void edit(const std::string& name, const std::string& from, const std::string& to) const;
  /// On the cpu device, into database().
  TuneRun tune(const std::string& spec, std::vector<std::string> more = {}) const;
  /// Any other subcommand.
  TuneRun run(std::vector<std::string> arguments, std::chrono::milliseconds patience = std::chrono::minutes(10)) const;

 private:
  std::filesystem::path folder() const { return scratch_.directory.path() / "spec"; }
  Scratch scratch_;
};

}  // namespace wavetune::test
