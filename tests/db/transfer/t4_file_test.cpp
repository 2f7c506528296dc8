// T4 files: what is read from the public form of the format, what is refused and with which words.
#include "db/transfer/t4_file.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "db/base/gzip.h"
#include "tests/db/fixtures.h"

namespace wavetune::db {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* example = R"({"metadata": {"timeunit": "miliseconds"}, "schema_version": "1.0.0", "results": [
{"timestamp": "2023-12-22 09:54:05+00:00", "configuration": {"bx": 16, "kind": "flat", "pad": true, "part": 0.5},
 "times": {"compilation": 900.5, "framework": 100, "search_algorithm": 7, "validation": 0.5, "runtimes": [2, 4]},
 "invalidity": "correct", "correctness": 1, "measurements": [{"name": "time", "value": 3.5, "unit": ""}],
 "objectives": ["time"]},
{"timestamp": "", "configuration": {"bx": 32, "kind": "flat", "pad": true, "part": 0.5},
 "times": {"compilation": 50, "framework": 1, "search_algorithm": 0, "validation": 0},
 "invalidity": "runtime", "correctness": 0,
 "measurements": [{"name": "time", "value": "RuntimeFailedConfig", "unit": ""}], "objectives": ["time"]}]})";

TEST(T4File, ReadsResults) {
  const T4File file = t4_from_text(example, "x.json");
  ASSERT_EQ(file.results.size(), 2U);
  const T4Result& good = file.results[0];
  EXPECT_EQ(good.configuration.at("bx"), 16);
  EXPECT_EQ(good.configuration.at("kind"), "flat");
  EXPECT_EQ(good.invalidity, T4Invalidity::correct);
  EXPECT_EQ(good.value(), 3.5);
  EXPECT_THAT(good.times.runtimes_ms, ElementsAre(2, 4));
  EXPECT_EQ(good.times.total_ms(), 900.5 + 100 + 0.5 + 6);  // without the search algorithm's own 7
  const T4Result& bad = file.results[1];
  EXPECT_EQ(bad.invalidity, T4Invalidity::runtime);
  EXPECT_EQ(bad.value(), std::nullopt);
  EXPECT_EQ(bad.measurements.at(0).word, "RuntimeFailedConfig");
  EXPECT_EQ(bad.times.total_ms(), 51);
}

TEST(T4File, WrittenFilesAreReadAgain) {
  const T4File file = t4_from_text(example, "x.json");
  std::ostringstream out;
  write_t4(file, out);
  EXPECT_EQ(nlohmann::json::parse(out.str()), nlohmann::json::parse(example));
  const TemporaryFolder folder;
  const auto plain = folder / "x.json";
  const auto packed = folder / "x.json.gz";
  std::ofstream(plain) << out.str();
  std::ofstream(packed, std::ios::binary) << gzip(out.str());
  EXPECT_EQ(read_t4(plain).results.size(), 2U);
  EXPECT_EQ(read_t4(packed).results.at(0).value(), 3.5);
}

TEST(T4File, OtherWritersAreUnderstood) {
  std::string text = example;
  const auto replace = [&text](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("\"compilation\"", "\"compilation_time\"");  // as the schema has it
  replace("\"runtimes\": [2, 4]", "\"benchmark\": 60, \"runtimes\": [2, 4]");
  replace("\"name\": \"time\"", "\"name\": \"GFLOP/s\"");
  const T4Result result = t4_from_text(text, "x").results.at(0);
  EXPECT_EQ(result.times.total_ms(), 900.5 + 100 + 0.5 + 60);
  EXPECT_EQ(result.value(), 3);  // the mean of the runtimes: nothing is called "time"
}

TEST(T4File, MalformedFilesAreRefusedWithThePlace) {
  struct Case {
    std::string from, to;
    std::vector<std::string> words;
  };
  const std::vector<Case> cases = {
      {"{\"metadata\"", "metadata", {"bad.json: not JSON"}},
      {"\"results\"", "\"result\"", {"bad.json: document: member 'results' is missing"}},
      {"\"compilation\": 900.5, ", "", {"bad.json: results[0].times: member 'compilation' is missing"}},
      {"900.5", "\"900.5\"", {"bad.json: results[0].times.compilation: must be a number"}},
      {"900.5", "-1", {"results[0].times.compilation: is -1, which is no duration"}},
      {"[2, 4]", "[2, \"4\"]", {"results[0].times.runtimes[1]: must be a number"}},
      {"[2, 4]", "2", {"results[0].times.runtimes: must be a list"}},
      {"\"runtime\",", "\"crash\",", {"results[1].invalidity: 'crash' is unknown", "constraints, correct"}},
      {"\"invalidity\": \"runtime\", ", "", {"results[1]: member 'invalidity' is missing"}},
      {"\"correctness\": 0", "\"correctness\": false", {"results[1].correctness: must be a number"}},
      {"\"bx\": 32", "\"bx\": [32]", {"results[1].configuration.bx: must be a number, a string or a boolean"}},
      {"{\"bx\": 16, \"kind\": \"flat\", \"pad\": true, \"part\": 0.5}", "{}", {"results[0].configuration: has no"}},
      {"3.5", "\"fast\"", {"results[0]: is correct, but has no number for its objective"}},
      {"3.5", "0", {"results[0]: is correct, but its objective is 0"}},
      {"3.5", "{}", {"results[0].measurements[0].value: must be"}},
      {"miliseconds", "seconds", {"metadata.timeunit: is 'seconds'; only milliseconds"}},
  };
  for (const Case& one : cases) {
    std::string text = example;
    ASSERT_NE(text.find(one.from), std::string::npos) << one.from;
    text.replace(text.find(one.from), one.from.size(), one.to);
    const Error error = error_of([&] { t4_from_text(text, "bad.json"); });
    EXPECT_EQ(error.kind(), ErrorKind::bad_data);
    for (const std::string& word : one.words) EXPECT_THAT(error.what(), HasSubstr(word)) << one.to;
  }
}

TEST(T4File, ATruncatedGzipNamesTheFile) {
  const TemporaryFolder folder;
  const auto path = folder / "cut.json.gz";
  const std::string packed = gzip(example);
  std::ofstream(path, std::ios::binary) << packed.substr(0, packed.size() / 2);
  EXPECT_THAT(error_of([&] { read_t4(path); }).what(), AllOf(HasSubstr("cut.json.gz"), HasSubstr("end early")));
  EXPECT_EQ(error_of([&] { read_t4(folder / "none.json"); }).kind(), ErrorKind::not_found);
}

}  // namespace
}  // namespace wavetune::db
