#include "db/sqlite/page_checksum.h"

#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

#include "db/base/error.h"

namespace wavetune::db::sqlite {
namespace {

struct Field {
  int at, size;
};
constexpr Field page_size_field = {16, 2}, room_field = {20, 1};
constexpr Field loose_fields[] = {{18, 2}, room_field, {24, 4}, {60, 4}, {92, 8}};
constexpr int most_page_size = 65536;

// A page that another process is writing just now is read again.
constexpr int most_reads = 4;
constexpr std::chrono::milliseconds between_reads{5};

std::span<const std::byte> room_of(std::span<const std::byte> page) { return page.last(checksum_bytes); }

}  // namespace

PageFormat format_of(std::span<const std::byte> header) {
  const int size =
      std::to_integer<int>(header[page_size_field.at]) << 8 | std::to_integer<int>(header[page_size_field.at + 1]);
  return {size == 1 ? most_page_size : size, std::to_integer<int>(header[room_field.at]) == checksum_bytes};
}

PageChecksum checksum_of(std::span<const std::byte> page, std::uint32_t number) {
  std::span<const std::byte> content = page.first(page.size() - checksum_bytes);
  std::uint64_t seed = number;
  if (number == 1) {
    std::array<std::byte, header_bytes> header{};
    std::copy_n(content.begin(), header_bytes, header.begin());
    for (const Field& field : loose_fields) std::fill_n(header.begin() + field.at, field.size, std::byte{0});
    seed = XXH3_64bits(header.data(), header.size());
    content = content.subspan(header_bytes);
  }
  std::uint64_t hash = XXH3_64bits_withSeed(content.data(), content.size(), seed);
  if (hash == 0) hash = 1;  // zeros mean that there is none
  PageChecksum checksum;
  std::memcpy(checksum.data(), &hash, sizeof hash);
  return checksum;
}

PageState state_of_page(std::span<const std::byte> page, std::uint32_t number) {
  const auto stored = room_of(page);
  if (std::all_of(stored.begin(), stored.end(), [](std::byte byte) { return byte == std::byte{0}; }))
    return PageState::unchecked;
  const PageChecksum right = checksum_of(page, number);
  return std::equal(stored.begin(), stored.end(), right.begin()) ? PageState::intact : PageState::damaged;
}

PageReport check_pages(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::array<std::byte, header_bytes> header{};
  PageReport report;
  const auto read_at = [&file](std::span<std::byte> into, std::streamoff offset) {
    file.clear();
    file.seekg(offset);
    file.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size()));
    return file.gcount() == static_cast<std::streamsize>(into.size());
  };
  if (!file) fail(ErrorKind::io, "database {}: cannot be read: {}", path.string(), std::strerror(errno));
  if (!read_at(header, 0)) return report;
  const PageFormat format = format_of(header);
  report.checksums = format.checksums;
  if (format.page_size < 512) return report;
  std::vector<std::byte> page(static_cast<std::size_t>(format.page_size));
  for (std::uint32_t number = 1; read_at(page, std::streamoff(number - 1) * format.page_size); ++number) {
    ++report.pages;
    if (!format.checksums) continue;
    int reads = 1;
    while (state_of_page(page, number) == PageState::damaged) {
      if (reads++ == most_reads) {
        report.damaged.push_back(number);
        break;
      }
      std::this_thread::sleep_for(between_reads);
      read_at(page, std::streamoff(number - 1) * format.page_size);
    }
  }
  return report;
}

}  // namespace wavetune::db::sqlite
