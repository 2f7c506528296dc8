// DESIGN.md, section 2: each folder may include only folders to its left. A new dependency the wrong way fails here
// with the file and line.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 5> order = {"db", "templates", "model", "runtime", "search"};

int rank_of(const std::string& folder) {
  for (size_t i = 0; i < order.size(); ++i) {
    if (folder == order[i]) return static_cast<int>(i);
  }
  return -1;
}

struct Finding {
  std::string where;
  std::string included;
};

/// Includes of other folders of ours in `file`, with their rank compared to `own_rank`.
std::vector<Finding> wrong_includes(const fs::path& file, int own_rank) {
  std::vector<Finding> findings;
  std::ifstream in(file);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::string_view prefix = "#include \"";
    if (line.rfind(prefix, 0) != 0) continue;
    const std::string path = line.substr(prefix.size(), line.find('"', prefix.size()) - prefix.size());
    const int rank = rank_of(path.substr(0, path.find('/')));
    if (rank < 0 || rank > own_rank) {
      findings.push_back({file.string() + ":" + std::to_string(number), path});
    }
  }
  return findings;
}

TEST(Structure, FoldersIncludeOnlyFoldersToTheirLeft) {
  int files = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(WAVETUNE_SOURCE_DIR) / order[rank])) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      ++files;
      for (const Finding& f : wrong_includes(entry.path(), static_cast<int>(rank))) {
        ADD_FAILURE()
            << f.where << " includes \"" << f.included << "\", which " << order[rank]
            << "/ may not (includes are written from the repository's root; order: db, templates, model, runtime, "
               "search)";
      }
    }
  }
  EXPECT_GT(files, 40);
}

TEST(Structure, TheCheckSeesAWrongInclude) {
  const fs::path file = fs::temp_directory_path() / "wavetune_structure_check.h";
  std::ofstream(file) << "#include <vector>\n#include \"db/problem.h\"\n#include \"search/cli/cli.h\"\n";
  const auto findings = wrong_includes(file, rank_of("model"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].included, "search/cli/cli.h");
  fs::remove(file);
}

}  // namespace
