// What `wavetune db machines` prints, and what `wavetune merge` says of machines that disagree.
#pragma once

#include <string>
#include <vector>

#include "db/machines.h"

namespace wavetune::db {

/// A table for each environment.
std::string machines_as_text(const std::vector<Machine>& machines);
/// {"machines": [{"device", ..., "machine", "trials", "ok", "common", "ratio", "standard_error", "deviates"}]}; of a
/// machine that shares nothing with others "common" is 0 and the ratio is absent.
std::string machines_as_json(const std::vector<Machine>& machines);

/// One line for each machine that deviates, with what to do; empty when none does.
std::string deviations_text(const std::vector<Machine>& machines);

}  // namespace wavetune::db
