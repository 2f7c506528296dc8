#include "model/safetensors.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "db/base/file.h"
#include "tests/model/errors.h"
#include "tests/model/golden.h"

namespace wavetune::model {
namespace {

using nlohmann::json;
using templates::DType;

/// A folder that is gone afterwards.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "wavetune-model-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

  void write(const std::string& name, const std::string& header, const std::string& data) const {
    const std::uint64_t size = header.size();
    std::string file(reinterpret_cast<const char*>(&size), sizeof size);
    write_file_atomic(path_ / name, file + header + data);
  }

 private:
  std::filesystem::path path_;
};

json entry(const char* dtype, std::vector<int> shape, int begin, int end) {
  return {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {begin, end}}};
}

template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

/// One weight of `rows` x `cols` made of `parts`.
Program program_with(DType dtype, std::int64_t rows, std::int64_t cols, std::vector<WeightPart> parts) {
  Program program;
  program.buffers.push_back({"w", Storage::weight, dtype, {rows, Symbol::one}, {cols, Symbol::one}});
  program.weights.push_back({0, std::move(parts)});
  return program;
}

std::vector<double> values_of(const templates::HostTensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.count(); ++i) values.push_back(tensor.at(i));
  return values;
}

TEST(Safetensors, SlicesStacksTransposesAndConverts) {
  const Folder folder;
  const json header = {{"__metadata__", {{"format", "pt"}}},
                       {"a", entry("F32", {2, 3}, 0, 24)},
                       {"b", entry("BF16", {3, 2}, 24, 36)},
                       {"h", entry("F16", {6}, 36, 48)}};
  const auto bf = [](float value) { return templates::bf16_from_float(value); };
  const std::string f16 = bytes_of<std::uint16_t>({0x3c00, 0xc000, 0x0001, 0x8000, 0x7c00, 0x3555});
  folder.write("model.safetensors", header.dump(),
               bytes_of<float>({1, 2, 3, 4, 5, 6}) +
                   bytes_of<std::uint16_t>({bf(7), bf(8), bf(9), bf(10), bf(11), bf(12)}) + f16);
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(checkpoint.names(), (std::vector<std::string_view>{"a", "b", "h"}));
  EXPECT_EQ(checkpoint.get("b").dtype, "BF16");
  EXPECT_EQ(checkpoint.file_count(), 1u);

  const auto load = [&](const Program& program) {
    return values_of(load_weight(program, program.weights[0], checkpoint));
  };
  const WeightPart a_right{"a", 2, 3, 0, 2, 1, 3, 0, false}, b_low{"b", 3, 2, 1, 3, 0, 2, 2, false};
  EXPECT_EQ(load(program_with(DType::f32, 4, 2, {a_right, b_low})), (std::vector<double>{2, 3, 5, 6, 9, 10, 11, 12}));
  EXPECT_EQ(load(program_with(DType::bf16, 4, 2, {b_low, a_right})), (std::vector<double>{2, 3, 5, 6, 9, 10, 11, 12}));
  const WeightPart a_transposed{"a", 2, 3, 0, 2, 0, 3, 1, true};
  EXPECT_EQ(load(program_with(DType::f32, 4, 2, {a_transposed})), (std::vector<double>{0, 0, 1, 4, 2, 5, 3, 6}));
  const WeightPart h{"h", 1, 6, 0, 1, 0, 6, 0, false};
  const std::vector<double> halves = load(program_with(DType::f32, 1, 6, {h}));
  EXPECT_EQ(halves, (std::vector<double>{1, -2, 0x1p-24, -0.0, INFINITY, 0x1.554p-2}));
  EXPECT_TRUE(std::signbit(halves[3]));
}

TEST(Safetensors, ReadsUnalignedData) {
  const Folder folder;
  const json header = {{"pad", entry("U8", {1}, 0, 1)}, {"x", entry("F32", {2}, 1, 9)}};
  folder.write("model.safetensors", header.dump(), "p" + bytes_of<float>({1.5f, -2.5f}));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  const Program program = program_with(DType::bf16, 1, 2, {{"x", 1, 2, 0, 1, 0, 2, 0, false}});
  EXPECT_EQ(values_of(load_weight(program, program.weights[0], checkpoint)), (std::vector<double>{1.5, -2.5}));
}

TEST(Safetensors, RefusesBrokenFiles) {
  struct Bad {
    const char* what;
    std::string header, data, message;
  };
  const auto one = [](const json& value) { return json{{"x", value}}.dump(); };
  const Bad bads[] = {
      {"not JSON", "{\"x\": ", "", "header is not valid JSON"},
      {"not an object", "[]", "", "not a JSON object"},
      {"no dtype", one({{"shape", {1}}}), "", "tensor x: no dtype"},
      {"no shape", one({{"dtype", "F32"}}), "", "tensor x: no shape"},
      {"negative size", one(entry("F32", {-1}, 0, 4)), "abcd", "sizes >= 0"},
      {"no offsets", one({{"dtype", "F32"}, {"shape", {1}}}), "", "data_offsets must be two"},
      {"backwards", one(entry("F32", {1}, 4, 0)), "abcd", "run backwards"},
      {"outside", one(entry("F32", {2}, 0, 8)), "abcd", "holds only 4: it is truncated"},
      {"other size", one(entry("F32", {2}, 0, 4)), "abcd", "its shape needs 8 bytes, but data_offsets hold 4"},
      {"overflow", one({{"dtype", "F32"}, {"shape", {1ll << 40, 1ll << 40}}, {"data_offsets", {0, 4}}}), "abcd",
       "overflows"},
      {"overlap", json{{"x", entry("F32", {1}, 0, 4)}, {"y", entry("F32", {1}, 2, 6)}}.dump(), "abcdef",
       "x and y overlap"},
  };
  for (const Bad& bad : bads) {
    const Folder folder;
    folder.write("model.safetensors", bad.header, bad.data);
    SCOPED_TRACE(bad.what);
    expect_error([&] { Checkpoint::open(folder.path()); }, ErrorKind::bad_data, bad.message);
    expect_error([&] { Checkpoint::open(folder.path()); }, ErrorKind::bad_data, "model.safetensors");
  }
  const Folder folder;
  expect_error([&] { Checkpoint::open(folder.path()); }, ErrorKind::not_found, "no weights in");
  for (const auto& [content, message] :
       {std::pair<std::string, const char*>{"", "is truncated: 0 bytes"},
        {"abc", "is truncated: 3 bytes"},
        {bytes_of<std::uint64_t>({100}) + "{}", "the header has 100 bytes, the file 10"},
        {"\x89PNG and more of a picture", "is not a safetensors file"}}) {
    write_file_atomic(folder.path() / "model.safetensors", content);
    expect_error([&] { Checkpoint::open(folder.path()); }, ErrorKind::bad_data, message);
  }
}

TEST(Safetensors, EveryTruncationOfARealFileIsNoticed) {
  const std::string whole = read_file(golden_folder() / "tiny-bf16" / "model.safetensors");
  const Folder folder;
  for (std::size_t size = 0; size < whole.size(); size += 1 + size / 3) {
    write_file_atomic(folder.path() / "model.safetensors", std::string_view(whole).substr(0, size));
    expect_error([&] { Checkpoint::open(folder.path()); }, ErrorKind::bad_data, "truncated");
  }
}

TEST(Safetensors, RefusesBrokenIndices) {
  const Folder folder;
  const json good = {{"x", entry("F32", {1}, 0, 4)}};
  folder.write("one.safetensors", good.dump(), "abcd");
  folder.write("two.safetensors", good.dump(), "abcd");
  const auto expect = [&](const json& index, ErrorKind kind, const char* message) {
    write_file_atomic(folder.path() / "model.safetensors.index.json", index.dump());
    expect_error([&] { Checkpoint::open(folder.path()); }, kind, message);
  };
  expect(json::array(), ErrorKind::bad_data, "no weight_map");
  expect({{"weight_map", 1}}, ErrorKind::bad_data, "no weight_map");
  expect({{"weight_map", {{"x", 1}}}}, ErrorKind::bad_data, "shard of tensor x is not a file name");
  expect({{"weight_map", {{"x", "../one.safetensors"}}}}, ErrorKind::bad_data, "outside the folder");
  expect({{"weight_map", {{"x", "three.safetensors"}}}}, ErrorKind::not_found, "three.safetensors is missing");
  expect({{"weight_map", {{"y", "one.safetensors"}}}}, ErrorKind::bad_data,
         "lists tensor y in one.safetensors, but no shard");
  expect({{"weight_map", {{"x", "one.safetensors"}, {"y", "two.safetensors"}}}}, ErrorKind::bad_data, "tensor x is in");
}

TEST(Safetensors, ShardsEqualTheSingleFile) {
  const Checkpoint single = Checkpoint::open(golden_folder() / "tiny-bf16");
  const Checkpoint shards = Checkpoint::open(golden_folder() / "tiny-bf16-sharded");
  EXPECT_EQ(shards.file_count(), 4u);
  ASSERT_EQ(single.names(), shards.names());
  for (const std::string_view name : single.names()) {
    const TensorView a = single.get(name), b = shards.get(name);
    EXPECT_EQ(a.dtype, b.dtype);
    EXPECT_TRUE(std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(), b.shape.end())) << name;
    EXPECT_TRUE(std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end())) << name;
  }
}

TEST(LoadWeight, NamesTheTensorThatIsWrong) {
  const Folder folder;
  const json header = {
      {"w", entry("F32", {2, 2}, 0, 16)}, {"q", entry("F8_E4M3", {2, 2}, 16, 20)}, {"v", entry("F32", {4}, 20, 36)}};
  folder.write("model.safetensors", header.dump(), std::string(36, '\0'));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  const auto load = [&](const WeightPart& part, std::int64_t rows, std::int64_t cols) {
    const Program program = program_with(DType::bf16, rows, cols, {part});
    load_weight(program, program.weights[0], checkpoint);
  };
  expect_error(
      [&] {
        load({"gone", 2, 2, 0, 2, 0, 2, 0, false}, 2, 2);
      },
      ErrorKind::bad_data, "tensor gone is missing");
  expect_error(
      [&] {
        load({"w", 2, 3, 0, 2, 0, 3, 0, false}, 2, 3);
      },
      ErrorKind::bad_data, "tensor w has shape [2, 2], but config.json makes it [2, 3]");
  expect_error(
      [&] {
        load({"w", 1, 4, 0, 1, 0, 4, 0, false}, 1, 4);
      },
      ErrorKind::bad_data, "but config.json makes it [4]");
  expect_error([&] { load({"v", 2, 2, 0, 2, 0, 2, 0, false}, 2, 2); }, ErrorKind::bad_data, "has shape [4]");
  expect_error(
      [&] {
        load({"q", 2, 2, 0, 2, 0, 2, 0, false}, 2, 2);
      },
      ErrorKind::incompatible, "number format F8_E4M3");
  expect_error([&] { load({"w", 2, 2, 0, 2, 0, 2, 1, false}, 2, 2); }, ErrorKind::internal, "does not fit");
}

}  // namespace
}  // namespace wavetune::model
