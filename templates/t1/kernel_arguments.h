// The arguments of a kernel from outside: what a KernelSpecification says of them, their data, and how they are passed.
#pragma once

#include <filesystem>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "templates/operator.h"
#include "templates/t1/kernel_types.h"
#include "templates/t1/spec_reader.h"

namespace wavetune::templates {

struct ConstantFill {
  double value = 0;
};
struct RandomFill {
  double low = 0;
  double high = 1;
};
struct GeneratedFill {
  Expression element;  ///< of "i"
};
struct FileFill {
  std::filesystem::path path;
};
using Fill = std::variant<ConstantFill, RandomFill, GeneratedFill, FileFill>;

struct KernelArgument {
  std::string name;
  KernelType type;
  bool vector = false;
  Role role = Role::input;          ///< of a vector
  bool compared = false;            ///< an output
  std::int64_t elements = 0;        ///< of a vector, in units of `type`
  Fill fill;                        ///< of an input or inout
  std::optional<Expression> value;  ///< of a scalar
  Tolerance tolerance;
};

/// "Arguments" and the "Tolerance" beside it. `sizes` is the scope of Size, `names` are what a scalar's FillValue may
/// use, `folder` is what DataSource is relative to.
std::vector<KernelArgument> read_arguments(const db::JsonReader& specification, SpecReader& reader, const Scope& sizes,
                                           const std::filesystem::path& folder);

/// Fills a vector that the kernel reads. `sizes` as above. Throws Error bad_data when a file does not have the size of
/// the argument, not_found when there is none.
void fill_argument(const KernelArgument& argument, const Scope& sizes, std::mt19937_64& random, HostTensor& tensor);

/// The file's elements.
void read_elements(const std::filesystem::path& path, const KernelArgument& argument, HostTensor& tensor);

/// The kernel's parameters as launches pass them: each at a multiple of its own size, in order. `pointers` are those of
/// the vectors.
std::vector<std::byte> pack_arguments(std::span<const KernelArgument> arguments, std::span<const View> vectors,
                                      const Scope& scope);

}  // namespace wavetune::templates
