// wavetune: one executable, one subcommand a word.
#include "search/cli/cli.h"

int main(int argc, char** argv) { return wavetune::cli::run(argc, argv); }
