// tests/golden/formats.golden.safetensors: what PyTorch, ml_dtypes and AMD Quark make of the narrow number formats.
#pragma once

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "model/safetensors.h"
#include "tests/model/golden.h"

namespace wavetune::templates::test {

class FormatVectors {
 public:
  FormatVectors() : folder_(std::filesystem::temp_directory_path() / "wavetune-format-vectors-XXXXXX") {
    std::string name = folder_.string();
    if (mkdtemp(name.data()) == nullptr) throw std::filesystem::filesystem_error("mkdtemp", folder_, std::error_code());
    folder_ = name;
    std::filesystem::create_symlink(model::golden_folder() / "formats.golden.safetensors",
                                    folder_ / "model.safetensors");
    file_.emplace(model::Checkpoint::open(folder_));
  }
  FormatVectors(const FormatVectors&) = delete;
  FormatVectors& operator=(const FormatVectors&) = delete;
  ~FormatVectors() { std::filesystem::remove_all(folder_); }

  template <class T>
  std::vector<T> get(const std::string& name) const {
    const model::TensorView view = file_->get(name);
    std::vector<T> values(view.bytes.size() / sizeof(T));
    std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
    return values;
  }

 private:
  std::filesystem::path folder_;
  std::optional<model::Checkpoint> file_;
};

}  // namespace wavetune::templates::test
