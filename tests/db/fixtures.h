// What the tests of db/ share: a folder that goes away, and example values.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "db/base/error.h"
#include "db/database.h"

namespace wavetune::db {

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Environment example_environment();
Problem example_problem(std::int64_t m = 16);
/// An ok trial of `example_problem` with every field set; `bm` tells configurations apart.
Trial example_trial(std::int64_t bm = 64, double median_us = 12.5);
Layout example_layout();

/// Runs `action` and gives the Error's kind and message; fails the test when there is none.
template <class Action>
Error error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return Error(ErrorKind::internal, "");
}

}  // namespace wavetune::db
