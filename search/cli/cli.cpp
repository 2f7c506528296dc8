#include "search/cli/cli.h"

#include <cstdio>

namespace wavetune::cli {

int run(int, char**) { return 2; }

}  // namespace wavetune::cli
