// KernelSpecification: what is understood, how launches and arguments come out, and what is said of mistakes.
#include "templates/t1/kernel_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "db/base/error.h"

namespace wavetune::templates {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

json good() {
  return json::parse(R"json({
    "ConfigurationSpace": {
      "TuningParameters": [
        {"Name": "bx", "Type": "int", "Values": "[32, 64]", "Default": 64},
        {"Name": "tile", "Type": "int", "Values": "[1, 2, 3]", "Default": 1},
        {"Name": "mode", "Type": "string", "Values": ["fast", "slow"], "Default": "fast"}],
      "Conditions": [{"Expression": "bx == 64 or tile == 1"}]},
    "KernelSpecification": {
      "Language": "CUDA", "KernelFile": "k.cu", "KernelName": "k", "ProblemSize": [1000, 30],
      "LocalSize": {"X": "bx", "Y": 2}, "GridDivX": ["bx", "tile"], "SharedMemory": "4 * bx * tile",
      "Arguments": [
        {"Name": "out", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly",
         "Size": "ProblemSize[0] * ProblemSize[1]"},
        {"Name": "in", "Type": "double", "MemoryType": "Vector", "AccessType": "ReadOnly",
         "Size": "ProblemSize[0] + max(tile)", "FillType": "Random", "FillValue": 1.0},
        {"Name": "n", "Type": "int8", "MemoryType": "Scalar", "FillValue": "-tile"},
        {"Name": "m", "Type": "uint64", "MemoryType": "Scalar", "FillValue": 4294967296},
        {"Name": "s", "Type": "half", "MemoryType": "Scalar", "FillValue": 0.5}]
}
})json");
}

KernelSpec parse(const json& document) { return parse_kernel_spec(parse_t1(document.dump(), "my.json")); }

TEST(KernelSpec, GivesGridBlockAndLds) {
  const json document = good();
  const T1File file = parse_t1(document.dump(), "my.json");
  const KernelSpec spec = parse_kernel_spec(file);
  Launch launch;
  set_geometry(spec.launch, config_scope(file, spec.problem_size, {{"bx", 64}, {"tile", 3}, {"mode", 1}}), launch);
  EXPECT_THAT(launch.grid, ElementsAre(6, 30, 1));  // 1000 / 192 rounded up; Y is not divided
  EXPECT_THAT(launch.block, ElementsAre(64, 2, 1));
  EXPECT_EQ(launch.lds_bytes, 768u);
}

TEST(KernelSpec, GlobalSizeCountsBlocksOrThreads) {
  for (const auto& [type, blocks] : {std::pair{"CUDA", 1000u}, {"cuda", 1000u}, {"OpenCL", 16u}}) {
    json document = good();
    json& kernel = document["KernelSpecification"];
    kernel.erase("GridDivX");
    kernel["GlobalSize"] = {{"X", "1000"}};
    kernel["GlobalSizeType"] = type;
    const T1File file = parse_t1(document.dump(), "my.json");
    const KernelSpec spec = parse_kernel_spec(file);
    Launch launch;
    set_geometry(spec.launch, config_scope(file, spec.problem_size, {{"bx", 64}, {"tile", 1}, {"mode", 0}}), launch);
    EXPECT_THAT(launch.grid, ElementsAre(blocks, 1, 1)) << type;
  }
}

TEST(KernelSpec, PassesArgumentsAtMultiplesOfTheirSizes) {
  const T1File file = parse_t1(good().dump(), "my.json");
  const KernelSpec spec = parse_kernel_spec(file);
  int place = 0;
  const std::vector<View> views = {{&place, 0, 0}, {&place + 1, 0, 0}};
  const std::vector<std::byte> bytes = pack_arguments(
      spec.arguments, views, config_scope(file, spec.problem_size, {{"bx", 64}, {"tile", 3}, {"mode", 0}}));
  struct Expected {
    void *out, *in;
    std::int8_t n;
    std::uint64_t m;
    std::uint16_t s;
  } expected{&place, &place + 1, -3, 4294967296u, 0x3800};
  ASSERT_EQ(bytes.size(), offsetof(Expected, s) + 2);
  Expected got{};
  std::memcpy(&got, bytes.data(), bytes.size());
  EXPECT_EQ(got.out, expected.out);
  EXPECT_EQ(got.in, expected.in);
  EXPECT_EQ(got.n, expected.n);
  EXPECT_EQ(got.m, expected.m);
  EXPECT_EQ(got.s, expected.s);
}

TEST(KernelSpec, SizesSeeAllValuesOfAParameter) {
  const KernelSpec spec = parse(good());
  EXPECT_EQ(spec.arguments[0].elements, 30000);
  EXPECT_EQ(spec.arguments[1].elements, 1003);
  EXPECT_TRUE(spec.arguments[0].compared);
  EXPECT_FALSE(spec.arguments[1].compared);
}

TEST(KernelSpec, FillsAsItIsTold) {
  json document = good();
  json& in = document["KernelSpecification"]["Arguments"][1];
  in["Type"] = "int32";
  const auto filled = [&document] {
    const T1File file = parse_t1(document.dump(), "my.json");
    const KernelSpec spec = parse_kernel_spec(file);
    HostTensor tensor(DType::i32, 1003);
    std::mt19937_64 random(1);
    fill_argument(spec.arguments[1], size_scope(file, spec.problem_size), random, tensor);
    const auto values = tensor.as<std::int32_t>();
    return std::vector<std::int32_t>(values.begin(), values.end());
  };
  in["FillValue"] = json::array({-2, 3});
  const auto random = filled();
  EXPECT_EQ(*std::min_element(random.begin(), random.end()), -2);
  EXPECT_EQ(*std::max_element(random.begin(), random.end()), 3);
  in["FillType"] = "Constant";
  in["FillValue"] = 9;
  EXPECT_THAT(filled(), testing::Each(9));
  in["FillType"] = "Generator";
  in["DataSource"] = "i * i % 7 - ProblemSize[1]";
  EXPECT_EQ(filled()[5], 25 % 7 - 30);
}

TEST(KernelSpec, NotesWhatIsNotUsed) {
  json document = good();
  json& kernel = document["KernelSpecification"];
  kernel["GlobalSize"] = {{"X", "5"}};
  kernel["Tolerence"] = 1;
  kernel["Arguments"][0]["Comment"] = "x";
  EXPECT_THAT(parse(document).notes,
              testing::UnorderedElementsAre(HasSubstr("KernelSpecification.GlobalSize is not used"),
                                            HasSubstr("KernelSpecification.Tolerence is not a field"),
                                            HasSubstr("KernelSpecification.Arguments[0].Comment is not a field")));
}

TEST(KernelSpec, ReadsThePublishedFilesButForConstantMemory) {
  for (const char* kernel : {"convolution", "dedispersion"}) {
    const std::string path =
        std::string(WAVETUNE_SOURCE_DIR) + "/tests/data/benchmark-hub/" + kernel + "_space_T1.json";
    T1File file = read_t1(path);
    try {
      parse_kernel_spec(file);
      ADD_FAILURE() << kernel;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("Arguments[2].MemType: __constant__ variables are not filled"));
    }
    file.kernel["Arguments"][2].erase("MemType");
    const KernelSpec spec = parse_kernel_spec(file);
    EXPECT_EQ(spec.arguments.size(), 3u);
    EXPECT_TRUE(spec.launch.divided);
  }
}

TEST(KernelSpec, ReferencesAndTheirDefaults) {
  json document = good();
  json& kernel = document["KernelSpecification"];
  EXPECT_FALSE(std::get<ReferenceConfiguration>(parse(document).reference).config.has_value());
  kernel["Reference"] = {{"Configuration", {{"bx", 32}, {"tile", 1}, {"mode", "slow"}}}};
  EXPECT_EQ(std::get<ReferenceConfiguration>(parse(document).reference).config,
            (Config{{"bx", 32}, {"tile", 1}, {"mode", 1}}));
  kernel["Reference"] = {{"KernelName", "plain"},
                         {"Parameters", {{"w", 4}}},
                         {"LocalSize", {{"X", "16 * w"}}},
                         {"GlobalSize", {{"X", 3}}}};
  const KernelSpec spec = parse(document);
  const auto& reference = std::get<ReferenceKernel>(spec.reference);
  EXPECT_EQ(reference.file, "k.cu");
  Launch launch;
  set_geometry(reference.launch, reference_scope(reference), launch);
  EXPECT_THAT(launch.block, ElementsAre(64, 1, 1));
  EXPECT_THAT(launch.grid, ElementsAre(3, 1, 1));
  kernel["Reference"] = {{"Outputs", {{"out", "out.bin"}}}};
  EXPECT_EQ(std::get<ReferenceFiles>(parse(document).reference).outputs.at("out"), "out.bin");
}

struct Mistake {
  const char* name;
  const char* pointer;  ///< in KernelSpecification
  const char* value;    ///< JSON; "" removes what is there
  const char* says;
};

class KernelSpecMistake : public testing::TestWithParam<Mistake> {};

TEST_P(KernelSpecMistake, IsNamedWithItsPlace) {
  json document = good();
  const json::json_pointer pointer(std::string("/KernelSpecification") + GetParam().pointer);
  if (*GetParam().value != '\0') {
    document[pointer] = json::parse(GetParam().value);
  } else {
    document[pointer.parent_pointer()].erase(pointer.back());
  }
  try {
    parse(document);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_data);
    EXPECT_THAT(error.what(), HasSubstr(std::string("my.json: KernelSpecification") + GetParam().says));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fields, KernelSpecMistake,
    testing::Values(
        Mistake{"no_kernel_file", "/KernelFile", "", ": member 'KernelFile' is missing"},
        Mistake{"no_kernel_name", "/KernelName", "", ": member 'KernelName' is missing"},
        Mistake{"no_arguments", "/Arguments", "", ": member 'Arguments' is missing"},
        Mistake{"no_local_size", "/LocalSize", "", ": member 'LocalSize' is missing"},
        Mistake{"no_global_size", "/GridDivX", "", ": member 'GlobalSize' is missing"},
        Mistake{"no_problem_size", "/ProblemSize", "", ": GridDiv divides ProblemSize, which is missing"},
        Mistake{"language", "/Language", R"("OpenCL")", ".Language: 'OpenCL' kernels cannot be compiled"},
        Mistake{"unknown_language", "/Language", R"("Fortran")", ".Language: 'Fortran' is not one of"},
        Mistake{"option", "/CompilerOptions", R"(["-O3", "-Xptxas"])", ".CompilerOptions[1]: '-Xptxas' is not taken"},
        Mistake{"size_type", "/GlobalSizeType", R"("Vulkan")", ".GlobalSizeType: 'Vulkan' is not one of"},
        Mistake{"syntax", "/LocalSize/X", R"("bx *")", ".LocalSize.X: "},
        Mistake{"name", "/LocalSize/X", R"("by")", ".LocalSize.X: 'by' in 'by' is not known here; there are: bx, tile"},
        Mistake{"list", "/LocalSize/X", "[64]", ".LocalSize.X: must be a number or an expression"},
        Mistake{"divisor", "/GridDivX", R"(["bx", "tile +"])", ".GridDivX[1]: "},
        Mistake{"type", "/Arguments/1/Type", R"("flot")", ".Arguments[1].Type: unknown type 'flot'"},
        Mistake{"no_type", "/Arguments/1/Type", "", ".Arguments[1]: member 'Type' is missing"},
        Mistake{"no_size", "/Arguments/0/Size", "", ".Arguments[0]: member 'Size' is missing"},
        Mistake{"empty", "/Arguments/0/Size", "0", ".Arguments[0].Size: 0 elements"},
        Mistake{"scalar_size", "/Arguments/0/Size", R"("tile")", ".Arguments[0].Size"},
        Mistake{"memory", "/Arguments/0/MemoryType", R"("Matrix")", ".Arguments[0].MemoryType: 'Matrix' is not one of"},
        Mistake{"access", "/Arguments/0/AccessType", R"("Write")", ".Arguments[0].AccessType: 'Write' is not one of"},
        Mistake{"fill", "/Arguments/1/FillType", R"("Uniform")", ".Arguments[1].FillType: 'Uniform' is not one of"},
        Mistake{"scalar_value", "/Arguments/2/FillValue", "", ".Arguments[2]: member 'FillValue' is missing"},
        Mistake{"same_name", "/Arguments/1/Name", R"("out")", ".Arguments[1]: the argument 'out' is there twice"},
        Mistake{"output", "/Arguments/1/Output", "1", ".Arguments[1].Output: only a vector that is WriteOnly"},
        Mistake{"nothing_written", "/Arguments/0/AccessType", R"("ReadOnly")", ".Arguments[0]: member 'FillValue'"},
        Mistake{"tolerance", "/Tolerance", R"({"Absolute": -1})", ".Tolerance.Absolute: must not be negative"},
        Mistake{"two_references", "/Reference", R"({"KernelName": "r", "Outputs": {}})",
                ".Reference: must have one of"},
        Mistake{"reference_parameter", "/Reference", R"({"Configuration": {"by": 1}})", ".Reference.Configuration.by"},
        Mistake{"reference_value", "/Reference", R"({"Configuration": {"bx": 48, "tile": 1, "mode": "slow"}})",
                ".Reference.Configuration.bx: 48 is none of its values"},
        Mistake{"reference_invalid", "/Reference", R"({"Configuration": {"bx": 32, "tile": 2, "mode": "slow"}})",
                ".Reference.Configuration: the configuration is not valid"},
        Mistake{"reference_missing", "/Reference", R"({"Configuration": {"bx": 32, "tile": 1}})",
                ".Reference.Configuration: parameter 'mode' is missing"},
        Mistake{"reference_size", "/Reference", R"({"KernelName": "r", "LocalSize": {"X": "bx"}})",
                ".Reference.LocalSize.X: 'bx' in 'bx' is not known here"},
        Mistake{"reference_output", "/Reference", R"({"Outputs": {"in": "x.bin"}})", ".Reference.Outputs.in"},
        Mistake{"cost", "/Cost", R"({"Flops": "2 * k"})", ".Cost.Flops: 'k' in '2 * k' is not known"}),
    [](const auto& mistake) { return std::string(mistake.param.name); });

TEST(KernelSpec, ASpaceAloneIsNoKernel) {
  json document = good();
  document.erase("KernelSpecification");
  EXPECT_THROW(parse(document), Error);
}

}  // namespace
}  // namespace wavetune::templates
