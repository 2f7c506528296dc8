// T1 files: the recorded spaces exactly, every type, and what is said about malformed ones.
#include "templates/t1/t1_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "db/base/error.h"
#include "db/base/file.h"

namespace wavetune::templates {
namespace {

const std::string tests = std::string(WAVETUNE_SOURCE_DIR) + "/tests/";

std::string fnv1a(std::string_view text) {
  std::uint64_t value = 0xCBF29CE484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return fmt::format("{:016x}", value);
}

// tests/golden/make_recorded_spaces.py says how the recorded configurations become a hash.
TEST(T1File, SpaceIsTheRecordedOne) {
  const auto golden = nlohmann::json::parse(read_file(tests + "golden/recorded-spaces.json"));
  for (const auto& [kernel, expected] : golden.items()) {
    const T1File file = read_t1(tests + "data/benchmark-hub/" + kernel + "_space_T1.json");
    std::vector<std::string> lines;
    for (const Config& config : space_of(file).enumerate()) lines.push_back(db::to_text(config) + "\n");
    std::sort(lines.begin(), lines.end());
    std::string all;
    for (const std::string& line : lines) all += line;
    EXPECT_EQ(lines.size(), expected.at("configurations").get<std::size_t>()) << kernel;
    EXPECT_EQ(fnv1a(all), expected.at("fnv1a").get<std::string>()) << kernel;
  }
}

TEST(T1File, ReadsTheRecordedSpaces) {
  const T1File file = read_t1(tests + "data/benchmark-hub/convolution_space_T1.json");
  EXPECT_EQ(file.name, "convolution_milo");
  EXPECT_EQ(file.parameters.size(), 10u);
  EXPECT_EQ(file.parameters[0].name, "block_size_x");
  EXPECT_EQ(file.parameters[0].values.size(), 16u);
  ASSERT_EQ(file.conditions.size(), 4u);
  // The file's own list lacks the filter's sizes.
  EXPECT_EQ(file.conditions[3].parameters,
            (std::vector<std::string>{"use_shmem", "block_size_x", "tile_size_x", "filter_width", "block_size_y",
                                      "tile_size_y", "filter_height"}));
  EXPECT_EQ(file.kernel.at("KernelName"), "convolution_kernel");
  EXPECT_TRUE(file.budget.is_null());
  const auto start = default_config_of(file);
  ASSERT_TRUE(start.has_value());
  EXPECT_EQ(start->at("block_size_y"), 16);
}

T1File with_space(const std::string& parameters, const std::string& conditions = "[]") {
  return parse_t1(
      R"({"ConfigurationSpace": {"TuningParameters": )" + parameters + R"(, "Conditions": )" + conditions + "}}",
      "my.json");
}

constexpr const char* mixed = R"([
  {"Name": "n", "Type": "uint", "Values": "[4, 1, 2]", "Default": 2},
  {"Name": "p", "Type": "int", "Values": "[2**i for i in range(3)]", "Default": "2*2"},
  {"Name": "f", "Type": "float", "Values": [1.5, 0.5, 1], "Default": 0.5},
  {"Name": "s", "Type": "string", "Values": "['row', 'col']", "Default": "col"},
  {"Name": "b", "Type": "bool", "Values": [true, false], "Default": 1}])";

TEST(T1File, ValuesOfEveryType) {
  const T1File file = with_space(mixed, R"(["s == 'row' or f < 1", {"Expression": "b or n * f == 2"}])");
  EXPECT_EQ(file.name, "my");
  const Space space = space_of(file);
  ASSERT_EQ(space.parameters().size(), 5u);
  using Values = std::vector<std::int64_t>;
  using Labels = std::vector<std::string>;
  EXPECT_EQ(space.parameters()[0].values, (Values{1, 2, 4}));
  EXPECT_TRUE(space.parameters()[0].labels.empty());
  EXPECT_EQ(space.parameters()[1].values, (Values{1, 2, 4}));
  EXPECT_EQ(space.parameters()[2].values, (Values{0, 1, 2}));
  EXPECT_EQ(space.parameters()[2].labels, (Labels{"0.5", "1.0", "1.5"}));
  EXPECT_EQ(space.parameters()[3].labels, (Labels{"row", "col"}));
  EXPECT_EQ(space.parameters()[4].labels, (Labels{"False", "True"}));
  EXPECT_EQ(default_config_of(file), (Config{{"n", 2}, {"p", 4}, {"f", 0}, {"s", 1}, {"b", 1}}));
  // (s, f): row with any of 3, col with 0.5; b with any n, else n * f == 2 by (2, 1.0) or (4, 0.5).
  EXPECT_EQ(space.enumerate().size(), 3u * ((3u * 3u + 2u) + (3u + 1u)));
  EXPECT_EQ(space_value(file.parameters[2], Value(1)), 1);
  EXPECT_EQ(space_value(file.parameters[3], Value("diagonal")), std::nullopt);
  EXPECT_EQ(t1_value(file.parameters[3], 1).as_string(), "col");
}

TEST(T1File, DefaultMustBeAValidConfiguration) {
  const std::string a = R"({"Name": "a", "Type": "int", "Values": [1, 2], "Default": 1})";
  EXPECT_TRUE(default_config_of(with_space("[" + a + "]")).has_value());
  EXPECT_FALSE(default_config_of(with_space("[" + a + "]", R"(["a > 1"])")).has_value());
  EXPECT_FALSE(default_config_of(with_space(R"([{"Name": "a", "Type": "int", "Values": [1, 2]}])")).has_value());
  EXPECT_FALSE(
      default_config_of(with_space(R"([{"Name": "a", "Type": "int", "Values": [1, 2], "Default": 3}])")).has_value());
}

template <class Action>
void expect_bad_data(const Action& action, std::string_view part) {
  try {
    action();
    ADD_FAILURE() << "no error; expected: " << part;
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.kind(), ErrorKind::bad_data) << message;
    EXPECT_NE(message.find("my.json"), std::string::npos) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message << " does not hold: " << part;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(T1File, MalformedFilesAreNamed) {
  struct Case {
    const char* text;
    const char* message;
  };
  for (const Case& each : {
           Case{"", "not JSON at byte 1"},
           Case{R"({"ConfigurationSpace": )", "not JSON at byte"},
           Case{"[]", "expected an object"},
           Case{"{}", "member 'ConfigurationSpace' is missing"},
           Case{R"({"ConfigurationSpace": {}})", "ConfigurationSpace: member 'TuningParameters' is missing"},
           Case{R"({"ConfigurationSpace": {"TuningParameters": 3}})", "TuningParameters: must be a list"},
           Case{R"({"ConfigurationSpace": {"TuningParameters": []}})", "there are no tuning parameters"},
       }) {
    expect_bad_data([&each] { parse_t1(each.text, "my.json"); }, each.message);
  }
}

TEST(T1File, MalformedParametersAreNamed) {
  struct Case {
    const char* parameter;
    const char* message;
  };
  for (const Case& each : {
           Case{"3", "TuningParameters[0]: must be an object"},
           Case{R"({"Type": "int", "Values": "[1]"})", "member 'Name' is missing"},
           Case{R"({"Name": "a b", "Type": "int", "Values": "[1]"})", "Name: 'a b' is no name"},
           Case{R"({"Name": "a", "Values": "[1]"})", "TuningParameters[0]: member 'Type' is missing"},
           Case{R"({"Name": "a", "Type": "complex", "Values": "[1]"})", "Type: unknown type 'complex' (known: int,"},
           Case{R"({"Name": "a", "Type": "int"})", "member 'Values' is missing"},
           Case{R"({"Name": "a", "Type": "int", "Values": "[1, 2"})",
                "Values: expected ',', found the end at column 6"},
           Case{R"({"Name": "a", "Type": "int", "Values": "[1, n]"})", "Values: unknown name 'n'"},
           Case{R"({"Name": "a", "Type": "int", "Values": "7"})", "Values: expected a list such as"},
           Case{R"({"Name": "a", "Type": "int", "Values": []})", "Values: the list is empty"},
           Case{R"({"Name": "a", "Type": "int", "Values": [1, 1]})", "Values: 1 is there twice"},
           Case{R"({"Name": "a", "Type": "int", "Values": [1, 1.5]})", "Values: 1.5 is no int"},
           Case{R"({"Name": "a", "Type": "uint", "Values": "[-1]"})", "-1 is no uint"},
           Case{R"({"Name": "a", "Type": "string", "Values": [1]})", "1 is no string"},
           Case{R"({"Name": "a", "Type": "bool", "Values": [2]})", "2 is no bool"},
           Case{R"({"Name": "a", "Type": "int", "Values": [{}]})", "Values[0]: expected a number"},
           Case{R"({"Name": "a", "Type": "int", "Values": [1], "Default": "x"})", "Default: unknown name 'x'"},
           Case{R"({"Name": "a", "Type": "int", "Values": [1], "Default": 1.5})", "Default: 1.5 is no int"},
           Case{R"({"Name": "a", "Type": "int", "Values": [1]}, {"Name": "a", "Type": "int", "Values": [1]})",
                "TuningParameters[1]: the parameter 'a' is there twice"},
       }) {
    expect_bad_data([&each] { with_space("[" + std::string(each.parameter) + "]"); }, each.message);
  }
}

TEST(T1File, MalformedConditionsAreNamed) {
  const std::string parameters = R"([{"Name": "a", "Type": "int", "Values": "[0, 1]"},
                                     {"Name": "c", "Type": "int", "Values": "[0, 1]"}])";
  struct Case {
    const char* conditions;
    const char* message;
  };
  for (const Case& each : {
           Case{"3", "Conditions: must be a list"},
           Case{"[3]", "Conditions[0]: must be an object"},
           Case{R"([{"Parameters": []}])", "Conditions[0]: member 'Expression' is missing"},
           Case{R"([{"Expression": 3}])", "Conditions[0].Expression: must be a string"},
           Case{R"([{"Expression": "a"}, {"Expression": "a <"}])", "condition 2 of my.json: expected a value"},
           Case{R"([{"Expression": "a < b"}])",
                "condition 1 of my.json: 'a < b' uses 'b', which is no parameter; the parameters are a, c"},
           Case{R"([{"Expression": "a", "Parameters": ["d"]}])", "Parameters has 'd', which is no parameter"},
       }) {
    expect_bad_data([&] { with_space(parameters, each.conditions); }, each.message);
  }
  const Space space = space_of(with_space(parameters, R"(["a < 9", "c % a == 0"])"));
  expect_bad_data([&space] { (void)space.enumerate(); },
                  "condition 2 of my.json: division by zero in 0 % 0: in 'c % a == 0' with c=0, a=0");
}

TEST(T1File, MissingFile) {
  try {
    read_t1("/nowhere/my.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::not_found);
  }
}

}  // namespace
}  // namespace wavetune::templates
