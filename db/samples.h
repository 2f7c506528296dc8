// The samples of a trial as the database stores them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace wavetune::db {

/// Doubles one after the other, little-endian: half of what their digits take.
std::vector<std::byte> pack_samples(const std::vector<double>& samples);
/// Inverse. Throws Error bad_data when the bytes are not whole doubles.
std::vector<double> unpack_samples(std::span<const std::byte> bytes);

/// "[1.5,2]", as schema versions 1 to 6 stored them. Throws Error bad_data.
std::vector<double> samples_from_text(std::string_view text);

}  // namespace wavetune::db
