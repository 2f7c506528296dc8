// export, import and db show as a user calls them.
#include "db/commands/commands.h"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "db/base/file.h"
#include "fixtures.h"

namespace wavetune {
namespace {

using db::error_of;
using testing::HasSubstr;

class CommandsTest : public testing::Test {
 protected:
  CommandsTest() {
    auto database = db::Database::open(file_, db::OpenMode::create);
    database.set_current_source("gemm", "aaaa");
    database.add_trial(db::example_environment(), db::example_trial(32, 20));
    database.add_trial(db::example_environment(), db::example_trial(64, 10));
    database.put_layout(db::example_environment(), db::example_layout());
  }

  static std::string output_of(int (*command)(const std::vector<std::string>&), const std::vector<std::string>& args) {
    testing::internal::CaptureStdout();
    const int code = command(args);
    std::string output = testing::internal::GetCapturedStdout();
    EXPECT_EQ(code, 0);
    return output;
  }

  db::TemporaryFolder folder_;
  std::string file_ = (folder_ / "tune.db").string();
};

TEST_F(CommandsTest, ExportThenImport) {
  const std::string json = (folder_ / "tune.json").string();
  EXPECT_EQ(export_command({"--db", file_, "--format", "json", "-o", json}), 0);
  EXPECT_EQ(output_of(export_command, {"--db", file_, "-o", "-"}).substr(0, 60), read_file(json).substr(0, 60));
  const std::string copy = (folder_ / "copy.db").string();
  EXPECT_THAT(output_of(import_command, {"--db", copy, json, json}),
              HasSubstr("2 trials added (2 already there), 1 layouts added"));
  EXPECT_THAT(output_of(import_command, {"--db", copy, json}), HasSubstr("0 trials added (2 already there)"));
  EXPECT_THAT(output_of(export_command, {"--db", copy, "--format", "csv"}), HasSubstr("\n1,AMD Instinct"));
}

TEST_F(CommandsTest, OneBadFileImportsNothing) {
  const std::string good = (folder_ / "good.json").string();
  const std::string bad = (folder_ / "bad.json").string();
  EXPECT_EQ(export_command({"--db", file_, "-o", good}), 0);
  std::ofstream(bad)
      << R"({"format": "wavetune-db", "version": 1, "environments": [], "sources": [], "trials": [{}], "layouts": []})";
  const std::string copy = (folder_ / "copy.db").string();
  const Error error = error_of([&] { import_command({"--db", copy, good, bad}); });
  EXPECT_THAT(error.what(), HasSubstr("bad.json: trials[0]: member"));
  EXPECT_FALSE(std::filesystem::exists(copy));
}

TEST_F(CommandsTest, ShowPrintsWinnersOutcomesAndLayouts) {
  const std::string text = output_of(db_command, {"show", "--db", file_});
  for (const char* part :
       {"AMD Instinct MI355X (gfx950, 256 CUs), hip 7.2, hiprtc 7.2", "ok 2", "gemm/bf16/batch=1,k=2048,m=16,n=4096",
        "10.00", "bm=64,bn=128", "TP 4 x DP 2", "chosen", "needs 744 GB of 288 GB"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(output_of(db_command, {"show", "--db", file_, "--op", "rope"}), HasSubstr("no winners"));
  const auto json = nlohmann::json::parse(output_of(db_command, {"show", "--db", file_, "--json"}));
  EXPECT_EQ(json["environments"][0]["trials"]["gemm"]["ok"], 2);
  EXPECT_EQ(json["environments"][0]["winners"][0]["config"]["bm"], 64);
  EXPECT_EQ(json["layouts"][0]["tp"], 4);
  EXPECT_THAT(output_of(db_command, {"upgrade", "--db", file_}), HasSubstr("schema"));
}

TEST_F(CommandsTest, MistakesAreOneClearLine) {
  using Command = int (*)(const std::vector<std::string>&);
  struct Case {
    Command command;
    std::vector<std::string> args;
    ErrorKind kind;
    const char* part;
  };
  const std::string none = (folder_ / "none.db").string();
  const Case cases[] = {
      {export_command, {}, ErrorKind::usage, "--db"},
      {export_command, {"--db", file_, "--format", "xml"}, ErrorKind::usage, "xml"},
      {export_command, {"--db", none}, ErrorKind::not_found, "none.db"},
      {export_command, {"--db", file_, "-o", "/no/such/folder/x.json"}, ErrorKind::io, "/no/such/folder/x.json"},
      {import_command, {"--db", file_}, ErrorKind::usage, "input"},
      {import_command, {"--db", file_, "nothing.json"}, ErrorKind::not_found, "nothing.json"},
      {import_command, {"--db", file_, file_}, ErrorKind::bad_data, "not JSON"},
      {db_command, {"show", "--db", none}, ErrorKind::not_found, "none.db"},
      {db_command, {"drop", "--db", file_}, ErrorKind::usage, "drop"},
      {db_command, {}, ErrorKind::usage, "db"}};
  for (const Case& one : cases) {
    const Error error = error_of([&] { one.command(one.args); });
    EXPECT_EQ(error.kind(), one.kind) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(one.part));
    EXPECT_THAT(error.what(), testing::Not(HasSubstr("\n")));
  }
  EXPECT_THAT(output_of(export_command, {"--help"}), HasSubstr("Examples:"));
}

}  // namespace
}  // namespace wavetune
