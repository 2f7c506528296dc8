// Lines of CSV files.
#include "db/base/csv.h"

#include <gmock/gmock.h>

#include <random>

namespace wavetune {
namespace {

using Cells = std::vector<std::string>;

TEST(Csv, SplitsLines) {
  struct Case {
    const char* line;
    Cells cells;
  };
  const Case cases[] = {{"", {}},
                        {"a", {"a"}},
                        {",", {"", ""}},
                        {"a,,b,", {"a", "", "b", ""}},
                        {"\"\"", {""}},
                        {"\"a,b\",c", {"a,b", "c"}},
                        {"1,\"say \"\"so\"\"\",2", {"1", "say \"so\"", "2"}},
                        {"a\"b,c", {"a\"b", "c"}},
                        {" a , b", {" a ", " b"}}};
  for (const Case& one : cases) EXPECT_EQ(csv_fields(one.line), one.cells) << one.line;
  for (const char* line : {"\"", "a,\"b", "\"a\"b", "\"a\"\"", "\"a\" ,b"}) {
    EXPECT_EQ(csv_fields(line), std::nullopt) << line;
  }
}

TEST(Csv, WhatIsWrittenIsRead) {
  std::mt19937 random(7);
  constexpr std::string_view letters = "ab,\" ";
  for (int round = 0; round < 2000; ++round) {
    Cells cells(1 + random() % 5);
    std::string line;
    for (std::string& cell : cells) {
      for (auto left = random() % 5; left > 0; --left) cell += letters[random() % letters.size()];
      if (&cell != &cells.front()) line += ',';
      line += csv_cell(cell);
    }
    if (line.empty()) cells.clear();
    EXPECT_EQ(csv_fields(line), cells) << line;
  }
}

}  // namespace
}  // namespace wavetune
