// Lines of CSV files (RFC 4180).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wavetune {

/// Cells of one line without its end; an empty line has none. A cell in quotes may hold commas and doubled quotes, but
/// no line breaks. Nothing when a quote is not closed or is followed by anything but a comma.
std::optional<std::vector<std::string>> csv_fields(std::string_view line);

/// One cell as it is written: in quotes where it must be.
std::string csv_cell(std::string_view text);

}  // namespace wavetune
