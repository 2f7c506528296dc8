#include "runtime/hip/cpu/module.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "runtime/hip/cpu/code_object.h"
#include "runtime/hip/cpu/sanitizer.h"

namespace wavetune::hip::cpu {
namespace {

hipError_t refuse(hipError_t error, const std::string& reason) {
  fmt::print(stderr, "wavetune cpu: a code object cannot be loaded: {}\n", reason);
  return error;
}

bool write_all(int fd, const char* data, std::size_t bytes) {
  while (bytes != 0) {
    const ssize_t written = write(fd, data, bytes);
    if (written <= 0) return false;
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

/// Files of sanitized modules: AddressSanitizer ends the process by itself, so it is asked to remove them then.
struct KeptFiles {
  std::mutex mutex;
  std::set<std::string> paths;
};
KeptFiles& kept_files() {
  static KeptFiles* const files = new KeptFiles();
  return *files;
}

void remove_kept_files() {
  // The report is being written by the thread that failed; others may hold the mutex for ever.
  if (!kept_files().mutex.try_lock()) return;
  for (const std::string& path : kept_files().paths) unlink(path.c_str());
  kept_files().mutex.unlock();
}

/// A path to `fd` that no other module had. Descriptor numbers come back, and dlopen takes a path that it saw before
/// for the library that is loaded already: a counter is spelled out in redundant "./" and ".//" on the way.
std::string unique_path_of(int fd) {
  static std::atomic<std::uint64_t> counter{0};
  std::string path = "/proc/self/";
  for (std::uint64_t bits = ++counter; bits != 0; bits >>= 1) path += (bits & 1) != 0 ? ".//" : "./";
  return path + fmt::format("fd/{}", fd);
}

std::size_t align_up(std::size_t offset, std::size_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

}  // namespace

hipError_t Module::load(const void* image, int device, std::shared_ptr<Module>& module) {
  const CodeHeader* const header = code_header(image);
  if (header == nullptr) return hipErrorInvalidImage;
  if (header->abi_version != wt_cpu::abi_version) {
    return refuse(hipErrorInvalidImage, "it was compiled by another version of wavetune; compile it again");
  }
  if (header->arch != cpu_arch()) {
    return refuse(hipErrorNoBinaryForGpu, fmt::format("it is for {}, this is {}", header->arch, cpu_arch()));
  }
  if (header->sanitized != 0 && !sanitizer().present) {
    return refuse(hipErrorNoBinaryForGpu,
                  "it was compiled with AddressSanitizer, whose runtime is not in this process (LD_PRELOAD libasan, as "
                  "process::sanitizer_environment() says)");
  }
  const char* const bytes = reinterpret_cast<const char*>(header + 1);
  std::shared_ptr<Module> loaded(new Module());
  loaded->device_ = device;
  std::string path;
  int fd = -1;
  if (header->sanitized != 0) {
    const char* folder = std::getenv("TMPDIR");
    path = fmt::format("{}/wavetune-kernel-XXXXXX.so", folder != nullptr && *folder != '\0' ? folder : "/tmp");
    fd = mkostemps(path.data(), 3, O_CLOEXEC);
    if (fd >= 0) {
      loaded->file_ = path;
      const std::lock_guard lock(kept_files().mutex);
      kept_files().paths.insert(path);
      sanitizer().set_death_callback(remove_kept_files);
    }
  } else {
    fd = memfd_create("wavetune-kernel", MFD_CLOEXEC);
    path = unique_path_of(fd);
  }
  const bool written = fd >= 0 && write_all(fd, bytes, header->bytes);
  if (written) loaded->library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string reason = written ? (loaded->library_ == nullptr ? dlerror() : "") : std::strerror(errno);
  if (fd >= 0) close(fd);
  if (loaded->library_ == nullptr) return refuse(hipErrorSharedObjectInitFailed, reason);

  const auto* const table = static_cast<const wt_cpu::Table*>(dlsym(loaded->library_, "wt_cpu_table"));
  if (table == nullptr || table->version != wt_cpu::abi_version)
    return refuse(hipErrorInvalidImage, "it has no kernel table");
  for (unsigned i = 0; i < table->entries; ++i) {
    auto function = std::make_unique<Function>();
    function->module = loaded.get();
    function->state.entry = &table->entry[i];
    function->state.shared_slots = &loaded->shared_slots_;
    loaded->functions_.push_back(std::move(function));
  }
  module = std::move(loaded);
  return hipSuccess;
}

Module::~Module() {
  if (library_ != nullptr) dlclose(library_);
  if (file_.empty()) return;
  const std::lock_guard lock(kept_files().mutex);
  kept_files().paths.erase(file_);
  unlink(file_.c_str());
}

Function* Module::find(std::string_view name) {
  for (const auto& function : functions_) {
    if (function->state.entry->name == name) return function.get();
  }
  return nullptr;
}

std::size_t Arguments::packed_bytes(const wt_cpu::Entry& entry) {
  std::size_t end = 0;
  for (unsigned i = 0; i < entry.parameters; ++i) end = align_up(end, entry.alignments[i]) + entry.sizes[i];
  return end;
}

void Arguments::fill(const wt_cpu::Entry& entry) {
  // Room for types that want more alignment than the vector gives.
  constexpr std::size_t widest = 64;
  storage_.resize((packed_bytes(entry) + widest) / sizeof(std::max_align_t) + 1);
  auto* const begin = reinterpret_cast<std::byte*>(align_up(reinterpret_cast<std::uintptr_t>(storage_.data()), widest));
  std::size_t end = 0;
  pointers_.reserve(entry.parameters);
  for (unsigned i = 0; i < entry.parameters; ++i) {
    end = align_up(end, entry.alignments[i]);
    pointers_.push_back(begin + end);
    end += entry.sizes[i];
  }
}

Arguments::Arguments(const wt_cpu::Entry& entry, void* const* pointers) {
  fill(entry);
  for (unsigned i = 0; i < entry.parameters; ++i) std::memcpy(pointers_[i], pointers[i], entry.sizes[i]);
}

Arguments::Arguments(const wt_cpu::Entry& entry, const void* packed) {
  fill(entry);
  const auto* const bytes = static_cast<const std::byte*>(packed);
  std::size_t end = 0;
  for (unsigned i = 0; i < entry.parameters; ++i) {
    end = align_up(end, entry.alignments[i]);
    std::memcpy(pointers_[i], bytes + end, entry.sizes[i]);
    end += entry.sizes[i];
  }
}

}  // namespace wavetune::hip::cpu
