// How long it takes to build a space from its constraints, to draw from it, and to find a point's neighbours.
//
//     space_build [T1.json ...]
//
// Without files: the recorded spaces of the tests and some made-up ones of up to 10^12 combinations. Times are
// the processor's; peak memory is the process's, each space being built in its own.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <exception>
#include <functional>

#include "search/space/search_space.h"
#include "templates/t1/t1_file.h"

namespace {

using namespace wavetune;

double now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

using Parameters = std::vector<std::pair<std::string, std::string>>;

templates::Space made_up(const Parameters& parameters, const std::vector<std::string>& conditions) {
  nlohmann::json space;
  for (const auto& [name, values] : parameters) {
    space["TuningParameters"].push_back({{"Name", name}, {"Type", "int"}, {"Values", values}});
  }
  for (const std::string& condition : conditions) space["Conditions"].push_back({{"Expression", condition}});
  return templates::space_of(templates::parse_t1(nlohmann::json{{"ConfigurationSpace", space}}.dump(), "made-up"));
}

const std::string powers = "[2**i for i in range(9)]";
const std::string to_32 = "list(range(1, 33))";

templates::Space blocks_and_tiles() {
  return made_up({{"bx", to_32},
                  {"by", to_32},
                  {"bz", "[1, 2, 4, 8]"},
                  {"tx", powers},
                  {"ty", powers},
                  {"vector", "[1, 2, 4, 8]"},
                  {"unroll", powers},
                  {"pad", "[0, 1]"},
                  {"shared", "[0, 1]"},
                  {"stages", "[1, 2, 3, 4]"}},
                 {"32 <= bx * by * bz <= 1024", "bx * by % 32 == 0", "tx % vector == 0 and ty % unroll == 0",
                  "shared == 0 or (bx * tx + pad) * by * ty * 4 * stages <= 65536", "pad == 0 or shared != 0"});
}

templates::Space sums() {
  Parameters parameters;
  std::string sum;
  std::string weighted;
  for (int i = 0; i < 9; ++i) {
    parameters.emplace_back(fmt::format("p{}", i), "list(range(0, 21))");
    sum += fmt::format("{}p{}", i == 0 ? "" : " + ", i);
    weighted += fmt::format("{}{} * p{}", i == 0 ? "" : " + ", i + 1, i);
  }
  return made_up(parameters, {sum + " == 40", "(" + weighted + ") % 7 == 3"});
}

templates::Space remainders() {
  // Nothing to share: each condition wants the values themselves.
  Parameters parameters;
  for (int i = 0; i < 8; ++i) parameters.emplace_back(fmt::format("p{}", i), "list(range(1, 17))");
  return made_up(parameters, {"(p0 * 7 + p1) % p2 <= 1", "(p2 * 5 + p3) % p4 <= 1", "(p4 * 3 + p5) % p6 <= 1",
                              "(p7 + p0 + p4) % (p1 + p5) <= 2", "p0 * p7 % 13 < p3 + p6"});
}

templates::Space divisors() {
  const std::string values = "[i for i in range(1, 1025) if 1024 % i == 0 or 960 % i == 0]";
  return made_up({{"m", values},
                  {"n", values},
                  {"k", values},
                  {"wm", values},
                  {"wn", values},
                  {"wk", "[1, 2, 4, 8]"},
                  {"vm", "[1, 2, 4, 8]"},
                  {"vn", "[1, 2, 4, 8]"}},
                 {"m % wm == 0", "n % wn == 0", "k % wk == 0", "wm % vm == 0", "wn % vn == 0",
                  "(m // wm) * (n // wn) <= 1024", "(m * k + k * n) * 2 <= 65536"});
}

void measure(const std::string& name, const templates::Space& space) {
  const auto start = now();
  const search::SearchSpace search(space);
  const double build = (now() - start);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  double product = 1;
  for (const auto& parameter : space.parameters()) product *= static_cast<double>(parameter.values.size());
  std::mt19937_64 random(1);
  constexpr int times = 20000;
  std::vector<search::PointId> drawn(times);
  const auto draw_start = now();
  std::uint64_t found = 0;
  for (auto& id : drawn) {
    id = search.draw(random);
    found += search.at(id).size();
  }
  const double draw = (now() - draw_start) / times;
  const auto step_start = now();
  for (const auto id : drawn) found += search.steps(id).size();
  const double step = (now() - step_start) / times;
  const auto change_start = now();
  for (const auto id : drawn) found += search.changes(id).size();
  const double change = (now() - change_start) / times;
  fmt::print("{:<24} {:>9.2g} {:>12} {:>9.4f} {:>8.0f} {:>8.2f} {:>9.2f} {:>10.2f}\n", name, product, search.size(),
             build, static_cast<double>(usage.ru_maxrss) / 1024, draw * 1e6, step * 1e6, change * 1e6);
  if (found == 0) std::puts("(no neighbours)");
}

/// In a process of its own, for its peak memory.
bool measured_apart(const std::string& name, const std::function<templates::Space()>& make) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    try {
      measure(name, make());
      std::fflush(stdout);
      _exit(0);
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}: {}\n", name, error.what());
      _exit(1);
    }
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

int main(int argc, char** argv) {
  fmt::print("{:<24} {:>9} {:>12} {:>9} {:>8} {:>8} {:>9} {:>10}\n", "space", "product", "valid", "build s", "peak MB",
             "draw us", "steps us", "changes us");
  bool good = true;
  const auto file = [&good](const std::string& path) {
    good = measured_apart(std::filesystem::path(path).stem().string(),
                          [path] { return templates::space_of(templates::read_t1(path)); }) &&
           good;
  };
  for (int i = 1; i < argc; ++i) file(argv[i]);
  if (argc == 1) {
    const std::string folder = std::string(WAVETUNE_SOURCE_DIR) + "/tests/data/benchmark-hub/";
    file(folder + "convolution_space_T1.json");
    file(folder + "dedispersion_space_T1.json");
    good = measured_apart("blocks and tiles", blocks_and_tiles) && good;
    good = measured_apart("sums", sums) && good;
    good = measured_apart("remainders", remainders) && good;
    good = measured_apart("divisors", divisors) && good;
  }
  return good ? 0 : 1;
}
