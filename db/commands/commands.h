// The subcommands that need only the database.
#pragma once

#include <string>
#include <vector>

namespace wavetune {

/// wavetune export --db FILE --format json|csv -o FILE|-
int export_command(const std::vector<std::string>& args);
/// wavetune import --db FILE FILE...
int import_command(const std::vector<std::string>& args);
/// wavetune db show|upgrade --db FILE [--op OP] [--json]
int db_command(const std::vector<std::string>& args);

}  // namespace wavetune
