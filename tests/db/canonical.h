// What a database says, whatever the order in which it came to say it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "db/sqlite/connection.h"

namespace wavetune::db {

/// Every row of every table, and of the view of the winners, as a line, sorted; ids are replaced by what the row that
/// they name says. Two databases with equal lists hold the same facts.
std::vector<std::string> canonical_contents(const std::filesystem::path& path);
std::vector<std::string> canonical_contents(sqlite::Connection& connection);

/// What queries that break ties answer: winners, whose code is found, newest layouts, shortlists. Sorted lines.
std::vector<std::string> canonical_answers(const std::filesystem::path& path);

}  // namespace wavetune::db
