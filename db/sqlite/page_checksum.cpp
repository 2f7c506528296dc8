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
constexpr int smallest_page_size = 512, most_page_size = 65536;

// A page that another process is writing just now is read again.
constexpr int most_reads = 4;
constexpr std::chrono::milliseconds between_reads{5};

class PagedFile {
 public:
  explicit PagedFile(const std::filesystem::path& path) : file_(path, std::ios::binary) {
    if (!file_) fail(ErrorKind::io, "database {}: cannot be read: {}", path.string(), std::strerror(errno));
  }
  /// False when the file ends before.
  bool read(std::span<std::byte> into, std::streamoff offset) {
    file_.clear();
    file_.seekg(offset);
    file_.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size()));
    return file_.gcount() == static_cast<std::streamsize>(into.size());
  }

 private:
  std::ifstream file_;
};

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

PageFormat read_format(const std::filesystem::path& path) {
  PagedFile file(path);
  std::array<std::byte, header_bytes> header{};
  return file.read(header, 0) ? format_of(header) : PageFormat();
}

PageReport check_pages(const std::filesystem::path& path) {
  const PageFormat format = read_format(path);
  PageReport report;
  report.checksums = format.checksums;
  if (format.page_size < smallest_page_size) return report;
  PagedFile file(path);
  std::vector<std::byte> page(static_cast<std::size_t>(format.page_size));
  for (std::uint32_t number = 1; file.read(page, std::streamoff(number - 1) * format.page_size); ++number) {
    ++report.pages;
    if (!format.checksums) continue;
    for (int reads = 1; state_of_page(page, number) == PageState::damaged; ++reads) {
      if (reads == most_reads) {
        report.damaged.push_back(number);
        break;
      }
      std::this_thread::sleep_for(between_reads);
      file.read(page, std::streamoff(number - 1) * format.page_size);
    }
  }
  return report;
}

}  // namespace wavetune::db::sqlite
