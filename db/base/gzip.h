// gzip files in memory (RFC 1952, by zlib).
#pragma once

#include <string>
#include <string_view>

namespace wavetune {

/// Whether the bytes begin as a gzip file does.
bool is_gzip(std::string_view bytes);

/// The content of a gzip file of one or more members. Throws Error bad_data naming `name`: truncated, or damaged (with
/// zlib's reason).
std::string gunzip(std::string_view bytes, const std::string& name);

/// One member, without name and time: the same content gives the same bytes.
std::string gzip(std::string_view content);

}  // namespace wavetune
