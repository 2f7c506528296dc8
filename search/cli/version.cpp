#include "search/cli/version.h"

#include <fmt/format.h>
#include <hip/hip_version.h>
#include <spdlog/version.h>
#include <sqlite3.h>
#include <tbb/version.h>
#include <xxhash.h>

#include <boost/version.hpp>
#include <nlohmann/json.hpp>

namespace wavetune::cli {

std::string version_text() {
#ifdef NDEBUG
  const char* build = "optimised, without assertions";
#else
  const char* build = "with assertions";
#endif
  return fmt::format(
      "wavetune {}\n"
      "built with   g++ {}, C++{}, {}\n"
      "HIP headers  {}.{}.{}\n"
      "Boost        {}.{}.{}\n"
      "oneTBB       {}.{}\n"
      "SQLite       {}\n"
      "libraries    nlohmann_json {}.{}.{}, spdlog {}.{}.{}, fmt {}, xxHash {}.{}.{}\n",
      WAVETUNE_VERSION, __VERSION__, __cplusplus / 100 % 100, build, HIP_VERSION_MAJOR, HIP_VERSION_MINOR,
      HIP_VERSION_PATCH, BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100, TBB_VERSION_MAJOR,
      TBB_VERSION_MINOR, SQLITE_VERSION, NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
      NLOHMANN_JSON_VERSION_PATCH, SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH, FMT_VERSION, XXH_VERSION_MAJOR,
      XXH_VERSION_MINOR, XXH_VERSION_RELEASE);
}

}  // namespace wavetune::cli
