// Whole-file reads and atomic writes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace wavetune {

/// The file's bytes. Throws Error not_found or io with the path and the system's reason.
std::string read_file(const std::filesystem::path& path);

/// Writes beside `path` and renames, so that a reader sees the old or the new content, never half. Throws Error io.
void write_file_atomic(const std::filesystem::path& path, std::string_view content);

}  // namespace wavetune
