// A layout for the reader and for machines.
#pragma once

#include <string>

#include "db/layout.h"

namespace wavetune::search {

/// The table with the chosen row marked, what was measured, and why it won.
std::string layout_text(const db::Layout& layout);
/// One line: {"event": "layout", "tp": ..., "dp": ..., "table": [...]}.
std::string layout_event(const db::Layout& layout);

}  // namespace wavetune::search
