#include "search/report/live_report.h"

#include <algorithm>
#include <utility>

#include "db/base/error.h"
#include "db/base/file.h"
#include "search/report/report_page.h"

namespace wavetune::report {
namespace {

constexpr std::chrono::seconds interval{4};
// Writing takes at most one part in so many of the time.
constexpr int cheap = 40;

}  // namespace

LiveReport::LiveReport(std::filesystem::path file, const db::Database& database, ReportFilter filter, FactsOf facts)
    : file_(std::move(file)), database_(database), filter_(std::move(filter)), facts_(std::move(facts)) {
  write(true);
}

void LiveReport::update() {
  // Another device's thread is writing.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || Clock::now() < next_) return;
  try {
    write(true);
  } catch (const Error&) {
    // A full disk must not end a tune; finish() tries again and says so.
  }
}

void LiveReport::finish() {
  const std::lock_guard lock(mutex_);
  write(false);
}

void LiveReport::write(bool goes_on) {
  const Clock::time_point begin = Clock::now();
  const std::chrono::duration<double> reload = interval;
  const ReportData data = collect(database_, filter_, facts_);
  write_file_atomic(file_, report_page(data, goes_on ? static_cast<int>(reload.count()) : 0));
  const Clock::time_point end = Clock::now();
  next_ = end + std::max<Clock::duration>(interval, cheap * (end - begin));
}

std::unique_ptr<LiveReport> follow(search::Reporter& reporter, const std::filesystem::path& file,
                                   const db::Database& database, ReportFilter filter, FactsOf facts) {
  if (file.empty()) return nullptr;
  auto live = std::make_unique<LiveReport>(file, database, std::move(filter), std::move(facts));
  reporter.after_trials([report = live.get()] { report->update(); });
  return live;
}

}  // namespace wavetune::report
