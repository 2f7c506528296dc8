#include "db/base/command_line.h"

#include <charconv>
#include <iostream>

#include "db/base/error.h"

namespace wavetune {
namespace po = boost::program_options;

bool parse_command_line(const CommandHelp& help, po::options_description& options,
                        const std::vector<std::string>& positional, const std::vector<std::string>& arguments,
                        po::variables_map& values) {
  options.add_options()("help,h", "show this help");
  po::positional_options_description positions;
  for (size_t i = 0; i < positional.size(); ++i) {
    positions.add(positional[i].c_str(), i + 1 == positional.size() ? -1 : 1);
  }
  try {
    po::store(po::command_line_parser(arguments).options(options).positional(positions).run(), values);
    if (values.count("help") != 0) {
      std::cout << "Usage: wavetune " << help.usage << "\n\n" << help.summary << "\n\n" << options << "\n";
      if (!help.examples.empty()) std::cout << "Examples:\n";
      for (const std::string& example : help.examples) std::cout << "  " << example << "\n";
      return false;
    }
    po::notify(values);
  } catch (const po::error& error) {
    fail(ErrorKind::usage, "{}: {}; see 'wavetune {} --help'", help.name, error.what(), help.name);
  }
  return true;
}

double parse_duration_seconds(const std::string& text, const std::string& option) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  const double scale = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (error != std::errc{} || scale == 0 || number < 0) {
    fail(ErrorKind::usage, "{} '{}' is not a duration; write for example 90s, 10m or 2h", option, text);
  }
  return number * scale;
}

}  // namespace wavetune
