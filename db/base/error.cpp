#include "db/base/error.h"

namespace wavetune {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return "usage";
    case ErrorKind::not_found:
      return "not found";
    case ErrorKind::bad_data:
      return "bad data";
    case ErrorKind::incompatible:
      return "incompatible";
    case ErrorKind::io:
      return "input/output";
    case ErrorKind::device:
      return "device";
    case ErrorKind::internal:
      return "internal";
  }
  return "unknown";
}

}  // namespace wavetune
