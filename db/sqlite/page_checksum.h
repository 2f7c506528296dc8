// Checksums of database pages: a flipped byte is an error, never another winner.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace wavetune::db::sqlite {

/// Bytes at the end of each page that SQLite leaves alone where byte 20 of the header says so
/// (sqlite.org/fileformat.html), and that hold the page's checksum.
inline constexpr int checksum_bytes = 8;
using PageChecksum = std::array<std::byte, checksum_bytes>;

/// What a database's header (its first 100 bytes at least) says of its pages.
struct PageFormat {
  int page_size = 0;
  bool checksums = false;  ///< there is room for them
};
inline constexpr int header_bytes = 100;
PageFormat format_of(std::span<const std::byte> header);

/// XXH3-64 over a whole page without its last bytes; `number` counts from 1 and is part of it, so that a page which was
/// written to another's place is found out. Of page 1 the fields are left out that any SQLite program changes when it
/// opens or stamps a file: journal mode, change counter, user_version and what wrote last.
PageChecksum checksum_of(std::span<const std::byte> page, std::uint32_t number);

enum class PageState {
  intact,
  unchecked,  ///< eight zeros: another program added it
  damaged,    ///< or changed by another program
};
/// Of a whole page with room for a checksum.
PageState state_of_page(std::span<const std::byte> page, std::uint32_t number);

struct PageReport {
  std::int64_t pages = 0;
  bool checksums = false;
  std::vector<std::uint32_t> damaged;  ///< numbers, counted from 1
};
/// What the header of a file says; zeros when it is too short to have one. Throws Error io.
PageFormat read_format(const std::filesystem::path& path);
/// Reads the file page by page; what the write-ahead log has to add is not seen. Others may write it meanwhile. Throws
/// Error io.
PageReport check_pages(const std::filesystem::path& path);

}  // namespace wavetune::db::sqlite
