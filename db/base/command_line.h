// What every subcommand shares: options through Boost.Program_options, --help with examples, one-line errors.
#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

namespace wavetune {

/// A subcommand's face. `usage` is the line after "wavetune "; `examples` are complete commands.
struct CommandHelp {
  std::string name;
  std::string usage;
  std::string summary;
  std::vector<std::string> examples;
};

/// Parses `arguments` (without program and subcommand name). Adds --help; when it is given, prints the help and returns
/// false: the command then returns 0. `positional` names the options that bare words fill, in order (the last may
/// repeat when its option is a vector). Throws Error usage with the option named.
bool parse_command_line(const CommandHelp& help, boost::program_options::options_description& options,
                        const std::vector<std::string>& positional, const std::vector<std::string>& arguments,
                        boost::program_options::variables_map& values);

/// "90", "90s", "10m", "2h" -> seconds. Throws Error usage.
double parse_duration_seconds(const std::string& text, const std::string& option);

}  // namespace wavetune
