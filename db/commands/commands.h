// The subcommands that need only the database.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "db/health/build_knowledge.h"
#include "db/transfer/t4_export.h"

namespace wavetune {

/// What the values of a T1 file's parameters stand for in a database; reading such files is beyond this folder.
using T1Meaning = std::function<db::ValueMeaning(const std::string& t1_path)>;

/// wavetune export --db FILE --format json|csv|t4|aiter -o FILE|FOLDER/|-
int export_command(const std::vector<std::string>& args);
/// With the option --space of t4, which `t1_meaning` serves.
int export_command(const std::vector<std::string>& args, const T1Meaning& t1_meaning);
/// wavetune import --db FILE FILE...
int import_command(const std::vector<std::string>& args);
/// wavetune merge FILE... -o FILE
int merge_command(const std::vector<std::string>& args);
/// wavetune db show|machines|verify|gc|pin|ban|unpin|unban|verdicts|upgrade --db FILE [...]
int db_command(const std::vector<std::string>& args);
/// With what the program knows of the operators; without, verify and gc take the database's word for it.
int db_command(const std::vector<std::string>& args, const db::BuildKnowledge& known);

}  // namespace wavetune
