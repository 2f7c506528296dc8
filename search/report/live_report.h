// The report of a run that goes on: a file that is written again every few seconds.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>

#include "search/driver/reporter.h"
#include "search/report/report_data.h"

namespace wavetune::report {

/// Thread-safe.
class LiveReport {
 public:
  /// Writes the first version. Throws Error io when the file cannot be written. `database` must outlive it.
  LiveReport(std::filesystem::path file, const db::Database& database, ReportFilter filter, FactsOf facts);

  /// Writes it again when it is time: every few seconds, less often when the database is large, so that it takes at
  /// most a few per cent of the time. A failure is kept for finish().
  void update();

  /// The last version, which does not reload itself. Throws Error io.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void write(bool goes_on);

  std::filesystem::path file_;
  const db::Database& database_;
  ReportFilter filter_;
  FactsOf facts_;
  std::mutex mutex_;
  Clock::time_point next_;
};

/// Lets `reporter` keep the report in `file` up to date. Null when `file` is empty.
std::unique_ptr<LiveReport> follow(search::Reporter& reporter, const std::filesystem::path& file,
                                   const db::Database& database, ReportFilter filter, FactsOf facts);

}  // namespace wavetune::report
