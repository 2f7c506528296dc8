// The table of subcommands, and the place where an Error becomes one line on stderr and an exit code.
#pragma once

namespace wavetune::cli {

/// Runs a subcommand. 0 on success, 2 for usage errors, 1 for other errors.
int run(int argc, char** argv);

}  // namespace wavetune::cli
