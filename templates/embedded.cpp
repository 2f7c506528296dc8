#include "templates/embedded.h"

#include "db/base/error.h"

namespace wavetune::templates {

std::string_view embedded_source(std::string_view path) {
  const auto found = embedded_sources().find(path);
  if (found == embedded_sources().end()) fail(ErrorKind::internal, "no embedded kernel source '{}'", path);
  return found->second;
}

}  // namespace wavetune::templates
