// Makes compiler logs readable and equal from run to run.
#pragma once

#include <string>
#include <string_view>

namespace wavetune::jit {

/// Takes the private folder of this compile out of file names ("/tmp/wavetune-x1/comgr-12-0-ab/input/kernel:3:1: error"
/// becomes "kernel:3:1: error") and cuts the text to `limit` bytes, saying so.
std::string clean_log(std::string_view log, std::string_view temporary_directory, std::size_t limit = 32768);

}  // namespace wavetune::jit
