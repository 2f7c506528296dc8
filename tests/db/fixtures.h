// What the tests of db/ share: a folder that goes away, and example values.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "db/base/error.h"
#include "db/database.h"
#include "tests/support/error_of.h"

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

using test::error_of;

}  // namespace wavetune::db
