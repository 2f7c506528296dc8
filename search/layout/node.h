// The devices that a layout is planned for: those of this machine, or named ones that are elsewhere.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "db/published_time.h"
#include "db/trial.h"
#include "search/layout/cost_table.h"
#include "search/measure/peak_run.h"

namespace wavetune::search {

struct Node {
  int devices = 1;
  std::string name;  ///< marketing name, as environments have it
  std::string arch;  ///< "gfx950"
  int cu_count = 0;
  std::size_t memory_bytes = 0;  ///< of one device
  measure::DevicePeak peak;
  /// Times of others for what no tuning table covers (collectives, sparse attention), and what is derived from them.
  std::vector<ReferenceTime> references;
  std::vector<std::string> assumptions;  ///< sentences for the report: where these figures come from
};

/// "8xMI355X". Throws Error usage for a name that is not known (listing the known ones) or a count out of range.
Node named_node(const std::string& text);

/// Published rows as reference times. Tables of other architectures or numbers of compute units do not count.
std::vector<ReferenceTime> references_of(const std::vector<db::PublishedTime>& rows);

}  // namespace wavetune::search
