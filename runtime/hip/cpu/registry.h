// Handles are addresses of our own objects. A registry of the living ones turns a wrong or stale handle into an error
// code instead of a crash, and keeps objects alive while a call uses them.
#pragma once

#include <memory>
#include <shared_mutex>
#include <unordered_map>

namespace wavetune::hip::cpu {

template <class T>
class Registry {
 public:
  T* add(std::shared_ptr<T> object) {
    T* const handle = object.get();
    const std::unique_lock lock(mutex_);
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  /// Null for an unknown handle.
  std::shared_ptr<T> find(const void* handle) const {
    const std::shared_lock lock(mutex_);
    const auto entry = objects_.find(handle);
    return entry == objects_.end() ? nullptr : entry->second;
  }
  /// Takes the object out; null for an unknown handle.
  std::shared_ptr<T> remove(const void* handle) {
    const std::unique_lock lock(mutex_);
    const auto entry = objects_.find(handle);
    if (entry == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(entry->second);
    objects_.erase(entry);
    return object;
  }

  /// The one registry of this type. Never destroyed, as the device isn't.
  static Registry& get() {
    static Registry* const registry = new Registry();
    return *registry;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<const void*, std::shared_ptr<T>> objects_;
};

}  // namespace wavetune::hip::cpu
