// The source of a kernel from outside, as one translation unit after a target's prelude.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "templates/t1/kernel_arguments.h"

namespace wavetune::templates {

/// The file with what it includes by "name" in place (files beside it, and those that these include). Includes of
/// HIP's, CUDA's and C's headers are left out: the prelude and hipRTC bring what they declare. #line marks keep the
/// compiler's messages to the point. Throws Error not_found.
std::string read_kernel_text(const std::filesystem::path& file);

/// The text with C linkage for the __global__ function `kernel` (its name may have namespaces before it), so that it is
/// found by its plain name. Throws Error bad_data, beginning with `where`, when there is none, when it is a template,
/// or when its parameters do not fit `arguments` as far as they can be understood.
std::string with_plain_name(const std::string& text, std::string_view kernel, std::string_view where,
                            std::span<const KernelArgument> arguments);

/// "name" of "space::name".
std::string plain_name(std::string_view kernel);

/// The translation unit: the words of HIP that the prelude lacks, a #define for each of `values`, and `text`.
std::string kernel_unit(const std::vector<std::pair<std::string, Value>>& values, const std::string& text);

}  // namespace wavetune::templates
