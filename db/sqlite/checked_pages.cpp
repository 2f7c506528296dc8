#include "db/sqlite/checked_pages.h"

#include <algorithm>
#include <array>
#include <new>
#include <vector>

#include "db/base/error.h"
#include "db/sqlite/page_checksum.h"

namespace wavetune::db::sqlite {
namespace {

/// The file of the default VFS lies behind this, in the memory that SQLite gives.
struct CheckedFile {
  sqlite3_file base;
  PageFormat format;
};

CheckedFile& self(sqlite3_file* file) { return *reinterpret_cast<CheckedFile*>(file); }
sqlite3_file* inner(sqlite3_file* file) { return reinterpret_cast<sqlite3_file*>(&self(file) + 1); }
const sqlite3_io_methods& on(sqlite3_file* file) { return *inner(file)->pMethods; }

std::span<const std::byte> bytes_of(const void* buffer, int size) {
  return {static_cast<const std::byte*>(buffer), static_cast<std::size_t>(size)};
}

bool is_page(const PageFormat& format, int size, sqlite3_int64 offset) {
  return size == format.page_size && offset % size == 0;
}

std::uint32_t number_of(int size, sqlite3_int64 offset) { return static_cast<std::uint32_t>(offset / size + 1); }

/// A header that says "no room" although its page has the checksum that belongs to it is damaged in that very byte.
bool lost_its_room(std::span<const std::byte> page) {
  const PageChecksum right = checksum_of(page, 1);
  return std::equal(right.begin(), right.end(), page.end() - checksum_bytes);
}

int read(sqlite3_file* file, void* buffer, int size, sqlite3_int64 offset) {
  const int code = on(file).xRead(inner(file), buffer, size, offset);
  if (code != SQLITE_OK) return code;
  const auto bytes = bytes_of(buffer, size);
  PageFormat& format = self(file).format;
  if (offset == 0 && size >= header_bytes) format = format_of(bytes);
  if (!is_page(format, size, offset)) return SQLITE_OK;
  const bool damaged = format.checksums ? state_of_page(bytes, number_of(size, offset)) == PageState::damaged
                                        : offset == 0 && lost_its_room(bytes);
  return damaged ? SQLITE_IOERR_DATA : SQLITE_OK;
}

/// Another process may have given the file room since its header was read here.
void look_again(sqlite3_file* file) {
  std::array<std::byte, header_bytes> header{};
  if (on(file).xRead(inner(file), header.data(), header_bytes, 0) == SQLITE_OK) self(file).format = format_of(header);
}

int write(sqlite3_file* file, const void* buffer, int size, sqlite3_int64 offset) {
  const auto bytes = bytes_of(buffer, size);
  PageFormat& format = self(file).format;
  if (offset == 0 && size >= header_bytes) {
    format = format_of(bytes);
  } else if (!format.checksums) {
    look_again(file);
  }
  if (!format.checksums || !is_page(format, size, offset)) {
    return on(file).xWrite(inner(file), buffer, size, offset);
  }
  try {
    // A copy: the buffer is SQLite's own.
    std::vector<std::byte> page(bytes.begin(), bytes.end());
    const PageChecksum checksum = checksum_of(page, number_of(size, offset));
    std::copy(checksum.begin(), checksum.end(), page.end() - checksum_bytes);
    return on(file).xWrite(inner(file), page.data(), size, offset);
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  }
}

/// A method that only hands on to the file behind.
template <auto Method>
struct Forward;
template <class Result, class... Arguments, Result (*sqlite3_io_methods::*Method)(sqlite3_file*, Arguments...)>
struct Forward<Method> {
  static Result call(sqlite3_file* file, Arguments... arguments) {
    return (on(file).*Method)(inner(file), arguments...);
  }
};

using Methods = sqlite3_io_methods;
/// Version 2: with the shared memory of the write-ahead log; without mapping of the file, which would go past read().
constexpr Methods checked_methods = {2,
                                     Forward<&Methods::xClose>::call,
                                     read,
                                     write,
                                     Forward<&Methods::xTruncate>::call,
                                     Forward<&Methods::xSync>::call,
                                     Forward<&Methods::xFileSize>::call,
                                     Forward<&Methods::xLock>::call,
                                     Forward<&Methods::xUnlock>::call,
                                     Forward<&Methods::xCheckReservedLock>::call,
                                     Forward<&Methods::xFileControl>::call,
                                     Forward<&Methods::xSectorSize>::call,
                                     Forward<&Methods::xDeviceCharacteristics>::call,
                                     Forward<&Methods::xShmMap>::call,
                                     Forward<&Methods::xShmLock>::call,
                                     Forward<&Methods::xShmBarrier>::call,
                                     Forward<&Methods::xShmUnmap>::call,
                                     nullptr,
                                     nullptr};

int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  auto* const original = static_cast<sqlite3_vfs*>(vfs->pAppData);
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) return original->xOpen(original, name, file, flags, out_flags);
  self(file).base.pMethods = nullptr;
  self(file).format = {};
  const int code = original->xOpen(original, name, inner(file), flags, out_flags);
  // SQLite closes a file that has methods, even when opening it failed.
  if (inner(file)->pMethods != nullptr) self(file).base.pMethods = &checked_methods;
  return code;
}

/// A method of the VFS that only hands on to the default one.
template <auto Method>
struct ForwardVfs;
template <class Result, class... Arguments, Result (*sqlite3_vfs::*Method)(sqlite3_vfs*, Arguments...)>
struct ForwardVfs<Method> {
  static Result call(sqlite3_vfs* vfs, Arguments... arguments) {
    auto* const original = static_cast<sqlite3_vfs*>(vfs->pAppData);
    return (original->*Method)(original, arguments...);
  }
};

sqlite3_vfs make_vfs() {
  using Vfs = sqlite3_vfs;
  Vfs* const original = sqlite3_vfs_find(nullptr);
  if (original == nullptr || original->iVersion < 2) fail(ErrorKind::internal, "this SQLite has no file system");
  Vfs vfs{};
  vfs.iVersion = 2;
  vfs.szOsFile = static_cast<int>(sizeof(CheckedFile)) + original->szOsFile;
  vfs.mxPathname = original->mxPathname;
  vfs.zName = "wavetune-checked-pages";
  vfs.pAppData = original;
  vfs.xOpen = open;
  vfs.xDelete = ForwardVfs<&Vfs::xDelete>::call;
  vfs.xAccess = ForwardVfs<&Vfs::xAccess>::call;
  vfs.xFullPathname = ForwardVfs<&Vfs::xFullPathname>::call;
  vfs.xRandomness = ForwardVfs<&Vfs::xRandomness>::call;
  vfs.xSleep = ForwardVfs<&Vfs::xSleep>::call;
  vfs.xCurrentTime = ForwardVfs<&Vfs::xCurrentTime>::call;
  vfs.xGetLastError = ForwardVfs<&Vfs::xGetLastError>::call;
  vfs.xCurrentTimeInt64 = ForwardVfs<&Vfs::xCurrentTimeInt64>::call;
  return vfs;
}

}  // namespace

const char* checked_pages_vfs() {
  static sqlite3_vfs vfs = make_vfs();
  static const int registered = sqlite3_vfs_register(&vfs, 0);
  if (registered != SQLITE_OK) fail(ErrorKind::internal, "SQLite refused our file system (code {})", registered);
  return vfs.zName;
}

void reserve_checksums(sqlite3* database) {
  int bytes = checksum_bytes;
  sqlite3_file_control(database, "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
}

}  // namespace wavetune::db::sqlite
