// What `tune` says when a run is over.
#pragma once

#include <string>

#include "search/driver/tuner.h"

namespace wavetune::search {

/// A line on standard error, or the "end" event on standard output.
void report_end(const TuneReport& report, const Reporter& reporter, const std::string& database);

/// ", 3 wrong, 1 timeout": the trials of this run that did not go well; empty when all did.
std::string failures_text(const Reporter& reporter);

}  // namespace wavetune::search
