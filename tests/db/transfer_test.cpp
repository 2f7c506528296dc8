// Export and import: nothing is lost, nothing comes twice, nothing comes half.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "db/base/file.h"
#include "db/database.h"
#include "db/transfer/csv_export.h"
#include "db/transfer/json_export.h"
#include "db/transfer/json_import.h"
#include "fixtures.h"

namespace wavetune::db {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Database filled(const std::filesystem::path& path) {
  auto database = Database::open(path, OpenMode::create);
  database.set_current_source("gemm", "aaaa");
  database.add_trial(example_environment(), example_trial(32, 20));
  Trial elsewhere = example_trial(64, 10);
  elsewhere.machine = "node7:0000:c1:00.0";
  database.add_trial(example_environment(), elsewhere);
  Environment other = example_environment();
  other.device = "Ein Gerät, \"groß\" 设备";
  Trial wrong = example_trial(128, 1);
  wrong.outcome = Outcome::wrong;
  wrong.max_error = INFINITY;
  wrong.error = "line 1\nline 2, \"so\"";
  database.add_trial(other, wrong);
  Layout layout = example_layout();
  database.put_layout(example_environment(), layout);
  return database;
}

std::string exported(const Database& database) {
  std::ostringstream out;
  export_json(database, out);
  return out.str();
}

json without_time(const std::string& text) {
  json document = json::parse(text);
  document.erase("exported_at");
  return document;
}

TEST(Transfer, ImportOfAnExportIsTheSameDatabase) {
  const TemporaryFolder folder;
  const auto first = filled(folder / "first.db");
  auto second = Database::open(folder / "second.db", OpenMode::create);
  const Contents contents = contents_from_json(exported(first), "first.json");
  MergeCounts counts = second.merge(contents);
  EXPECT_EQ(counts.trials_added, 3);
  EXPECT_EQ(counts.layouts_added, 1);
  EXPECT_EQ(without_time(exported(second)), without_time(exported(first)));
  EXPECT_EQ(second.winner(example_environment(), example_problem())->median_us, 10);

  counts = second.merge(contents);
  EXPECT_EQ(counts.trials_added, 0);
  EXPECT_EQ(counts.trials_known, 3);
  EXPECT_EQ(counts.layouts_added, 0);
  EXPECT_EQ(second.count_trials(), 3);
  EXPECT_EQ(without_time(exported(second)), without_time(exported(first)));
}

TEST(Transfer, ImportIntoItselfAddsNothing) {
  const TemporaryFolder folder;
  auto database = filled(folder / "one.db");
  EXPECT_EQ(database.merge(contents_from_json(exported(database), "one.json")).trials_added, 0);
}

TEST(Transfer, MachinesComeAlongAndOlderFilesHaveNone) {
  const TemporaryFolder folder;
  auto database = filled(folder / "one.db");
  json document = json::parse(exported(database));
  EXPECT_EQ(document["trials"][1]["machine"], "node7:0000:c1:00.0");
  EXPECT_FALSE(document["trials"][0].contains("machine"));
  EXPECT_EQ(contents_from_json(document.dump(), "x").trials[1].trial.machine, "node7:0000:c1:00.0");
  std::ostringstream csv;
  export_csv(database, csv);
  EXPECT_THAT(csv.str(), HasSubstr(",node7:0000:c1:00.0,"));
  // A file that was exported before machines were recorded tells of the same trials.
  document["trials"][1].erase("machine");
  const Contents older = contents_from_json(document.dump(), "x");
  EXPECT_EQ(older.trials[1].trial.machine, "");
  EXPECT_EQ(database.merge(older).trials_added, 0);
}

TEST(Transfer, OurOwnSourcesStayCurrent) {
  const TemporaryFolder folder;
  const auto theirs = filled(folder / "theirs.db");
  auto ours = Database::open(folder / "ours.db", OpenMode::create);
  ours.set_current_source("gemm", "newer");
  ours.merge(contents_from_json(exported(theirs), "theirs.json"));
  EXPECT_EQ(ours.current_source("gemm"), "newer");
  EXPECT_EQ(ours.winner(example_environment(), example_problem()), std::nullopt);
}

TEST(Transfer, BrokenUtf8IsReplaced) {
  const TemporaryFolder folder;
  auto database = Database::open(folder / "one.db", OpenMode::create);
  Trial trial = example_trial();
  trial.outcome = Outcome::compile_error;
  trial.error = "bad \xFF byte";
  database.add_trial(example_environment(), trial);
  const std::string text = exported(database);
  EXPECT_EQ(json::parse(text)["trials"][0]["error"], "bad \xEF\xBF\xBD byte");
  EXPECT_EQ(database.merge(contents_from_json(text, "x")).trials_added, 0);
}

TEST(Transfer, BadDocumentsNameThePlaceAndChangeNothing) {
  const TemporaryFolder folder;
  const json good = json::parse(exported(filled(folder / "good.db")));
  struct Case {
    const char* pointer;
    json value;  // discarded: remove
    const char* place;
  };
  const json remove(json::value_t::discarded);
  const Case cases[] = {{"/format", "sqlite", "format"},
                        {"/trials", 3, "trials"},
                        {"/trials/1", "x", "trials[1]"},
                        {"/trials/2/outcome", "great", "trials[2].outcome"},
                        {"/trials/1/outcome", 7, "trials[1].outcome"},
                        {"/trials/0/outcome", remove, "trials[0]: member 'outcome'"},
                        {"/trials/0/environment", 9, "trials[0].environment"},
                        {"/trials/0/environment", -1, "trials[0].environment"},
                        {"/trials/0/problem/dims/m", 1.5, "trials[0].problem.dims.m"},
                        {"/trials/0/problem/dims/m", 18446744073709551615u, "trials[0].problem.dims.m"},
                        {"/trials/0/problem/op", "a/b", "trials[0].problem.op"},
                        {"/trials/0/config/a=b", 1, "trials[0].config.a=b"},
                        {"/trials/0/machine", 7, "trials[0].machine"},
                        {"/trials/0/median_us", 0, "trials[0].median_us"},
                        {"/trials/0/median_us", nullptr, "trials[0].median_us"},
                        {"/trials/0/samples_us/1", "1", "trials[0].samples_us[1]"},
                        {"/trials/0/resources/vgpr", 3000000000, "trials[0].resources.vgpr"},
                        {"/trials/0/created_at", "yesterday", "trials[0].created_at"},
                        {"/environments/0/cu_count", "many", "environments[0].cu_count"},
                        {"/sources/0/op", remove, "sources[0]: member 'op'"},
                        {"/layouts/0/objective", "fun", "layouts[0].objective"},
                        {"/layouts/0/table/1/estimated/0", 1, "layouts[0].table[1].estimated[0]"},
                        {"/layouts", remove, "document: member 'layouts'"}};
  for (const Case& one : cases) {
    json bad = good;
    const json::json_pointer pointer(one.pointer);
    if (one.value.is_discarded()) {
      bad[pointer.parent_pointer()].erase(pointer.back());
    } else {
      bad[pointer] = one.value;
    }
    const Error error = error_of([&] { contents_from_json(bad.dump(), "in.json"); });
    EXPECT_EQ(error.kind(), ErrorKind::bad_data) << one.pointer;
    EXPECT_THAT(error.what(), testing::StartsWith(std::string("in.json: ") + one.place)) << one.pointer;
  }
  json newer = good;
  newer["version"] = 2;
  const Error error = error_of([&] { contents_from_json(newer.dump(), "in.json"); });
  EXPECT_EQ(error.kind(), ErrorKind::incompatible);
  EXPECT_THAT(error.what(), HasSubstr("version 2"));
  for (const char* text : {"", "{", "[]", "null", "\xFF"}) {
    EXPECT_EQ(error_of([&] { contents_from_json(text, "in.json"); }).kind(), ErrorKind::bad_data) << text;
  }
}

TEST(Transfer, FailedMergeAddsNothing) {
  const TemporaryFolder folder;
  auto database = Database::open(folder / "one.db", OpenMode::create);
  Contents contents;
  contents.trials.push_back({example_trial(), example_environment()});
  Trial bad = example_trial();
  bad.median_us = -1;
  contents.trials.push_back({bad, example_environment()});
  EXPECT_THROW(database.merge(contents), Error);
  EXPECT_EQ(database.count_trials(), 0);
}

/// The part of JSON Schema that transfer/schema.json uses.
void check_schema(const json& schema, const json& value, const json& root, const std::string& at) {
  if (schema.contains("$ref")) {
    const std::string reference = schema["$ref"];
    check_schema(root.at(json::json_pointer(reference.substr(1))), value, root, at);
    return;
  }
  if (schema.contains("const")) {
    EXPECT_EQ(value, schema["const"]) << at;
  }
  if (schema.contains("enum")) {
    EXPECT_THAT(schema["enum"], testing::Contains(value)) << at;
  }
  if (schema.contains("pattern")) {
    const std::regex pattern(schema["pattern"].get<std::string>());
    EXPECT_TRUE(std::regex_match(value.get<std::string>(), pattern)) << at;
  }
  if (schema.contains("minimum")) {
    EXPECT_GE(value, schema["minimum"]) << at;
  }
  if (schema.contains("type")) {
    const json types = schema["type"].is_array() ? schema["type"] : json::array({schema["type"]});
    const std::string kind = value.is_number_integer() ? "integer" : value.type_name();
    EXPECT_TRUE(std::any_of(types.begin(), types.end(),
                            [&](const json& type) { return type == kind || (type == "number" && kind == "integer"); }))
        << at << " is " << kind;
  }
  if (value.is_array() && schema.contains("items")) {
    for (size_t i = 0; i < value.size(); ++i)
      check_schema(schema["items"], value[i], root, at + "[" + std::to_string(i) + "]");
  }
  if (!value.is_object()) return;
  for (const json& name : schema.value("required", json::array()))
    EXPECT_TRUE(value.contains(name)) << at << "." << name;
  for (const auto& [name, member] : value.items()) {
    const std::string place = at + "." + name;
    if (schema.contains("properties") && schema["properties"].contains(name)) {
      check_schema(schema["properties"][name], member, root, place);
    } else if (const json rest = schema.value("additionalProperties", json(true)); rest.is_object()) {
      check_schema(rest, member, root, place);
    } else {
      EXPECT_EQ(rest, true) << place << " is not in the schema";
    }
  }
}

TEST(Transfer, ExportFollowsTheSchema) {
  const TemporaryFolder folder;
  const json schema = json::parse(read_file(WAVETUNE_SOURCE_DIR "/db/transfer/schema.json"));
  check_schema(schema, json::parse(exported(filled(folder / "one.db"))), schema, "");
  check_schema(schema, json::parse(exported(Database::open(folder / "empty.db", OpenMode::create))), schema, "");
  std::vector<std::string> outcomes;
  for (const Outcome outcome : all_outcomes) outcomes.emplace_back(to_string(outcome));
  EXPECT_EQ(schema["$defs"]["trial"]["properties"]["outcome"]["enum"], json(outcomes));
  EXPECT_EQ(schema["properties"]["version"]["const"], json_format_version);
}

TEST(Transfer, CsvFlagsWinnersAndQuotes) {
  const TemporaryFolder folder;
  std::ostringstream out;
  export_csv(filled(folder / "one.db"), out);
  const std::string text = out.str();
  EXPECT_THAT(text, testing::StartsWith("winner,device,arch,"));
  EXPECT_THAT(
      text, HasSubstr("\n0,AMD Instinct MI355X,gfx950,256,hip 7.2,hiprtc,7.2,gemm,bf16,\"batch=1,k=2048,m=16,n=4096\","
                      "\"bm=32,bn=128\",ok,20,19.7,20.1,3,321.25,0.125,128,,,65536,,0,4,1755,412,,,aaaa,"));
  EXPECT_THAT(text, HasSubstr("\n1,AMD Instinct MI355X,"));
  EXPECT_THAT(text, HasSubstr("\n0,\"Ein Gerät, \"\"groß\"\" 设备\","));
  EXPECT_THAT(text, HasSubstr(",wrong,,"));
  EXPECT_THAT(text, HasSubstr(",\"line 1\nline 2, \"\"so\"\"\"\n"));
}

}  // namespace
}  // namespace wavetune::db
