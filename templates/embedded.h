// Kernel sources, compiled into the executable (cmake/EmbedSources.cmake).
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace wavetune::templates {

/// Path below the repository ("templates/gemm/gemm.hip") -> text.
const std::map<std::string, std::string_view, std::less<>>& embedded_sources();

/// One source. Throws Error internal when there is none of that path.
std::string_view embedded_source(std::string_view path);

}  // namespace wavetune::templates
