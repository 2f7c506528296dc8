// Bad input at the command line: one clear line on stderr that names the thing, exit code not 0, nothing written.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sqlite3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

#include "db/base/file.h"
#include "db/database.h"
#include "tests/cli/run_binary.h"

namespace wavetune::test {
namespace {

namespace fs = std::filesystem;
const fs::path demo = fs::path(WAVETUNE_SOURCE_DIR) / "model/demo";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

class CliErrors : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("wavetune_cli_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// A copy of the demo model with one file's text changed.
  std::string model_with(const std::string& file, const std::string& from, const std::string& to) {
    const fs::path copy = folder_ / "model";
    fs::create_directories(copy);
    for (const auto& entry : fs::directory_iterator(demo)) {
      if (entry.is_regular_file())
        fs::copy_file(entry.path(), copy / entry.path().filename(), fs::copy_options::overwrite_existing);
    }
    write_file_atomic(copy / file, replaced(read_file(copy / file), from, to));
    return copy.string();
  }

  void expect_error(const std::vector<std::string>& arguments, const std::vector<std::string>& mentions) {
    const RunResult result = run_wavetune(arguments);
    EXPECT_GT(result.exit_code, 0) << result.out;
    std::vector<std::string> complaint;
    for (const std::string& line : lines_of(result.err)) {
      if (line.rfind("wavetune: ", 0) == 0) complaint.push_back(line);
    }
    ASSERT_EQ(complaint.size(), 1u) << "stderr was: " << result.err;
    for (const std::string& word : mentions) {
      EXPECT_NE(complaint[0].find(word), std::string::npos) << "'" << word << "' is not in: " << complaint[0];
    }
  }

  fs::path folder_;
};

TEST_F(CliErrors, UnknownCommandAndOption) {
  expect_error({"tone"}, {"tone", "--help"});
  expect_error({"tune", "--modle", "x"}, {"modle", "tune --help"});
  expect_error({"tune", "--model", "glm-5.2", "--db", path("t.db"), "--strategy", "luck"}, {"luck", "portfolio"});
  expect_error({"tune", "--model", "glm-5.2", "--db", path("t.db"), "--offline", "--html", path("r.html")}, {"--html"});
  expect_error({"report", "--db", path("absent.db")}, {path("absent.db")});
}

TEST_F(CliErrors, LayoutPlans) {
  const std::vector<std::string> layout = {"layout", "--model", "glm-5.2", "--db", path("t.db")};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), layout.begin(), layout.end());
    return more;
  };
  expect_error(with({"--devices", "8xMI355X"}), {"--workload"});
  expect_error(with({"--devices", "8xB200", "--workload", "in=1000"}), {"8xB200", "MI355X"});
  expect_error(with({"--devices", "8xMI355X", "--workload", "in=many"}), {"--workload", "in=many"});
  expect_error(with({"--devices", "8xMI355X", "--workload", "in=1000", "--weights", "int3"}), {"int3", "mxfp4"});
  expect_error(with({"--devices", "8xMI355X", "--workload", "in=1000", "--objective", "cost"}), {"--gpu-hour"});
  expect_error(with({"--devices", "8xMI355X", "--workload", "in=1000", "--mtp", "2:0.5"}), {"--mtp"});
  expect_error(with({"--devices", "8xMI355X", "--workload", "in=1000"}), {path("t.db")});
  EXPECT_FALSE(fs::exists(path("t.db")));
}

TEST_F(CliErrors, ModelFolderMissing) {
  for (const char* command : {"tune", "layout", "serve"}) {
    expect_error({command, "--model", path("nothing"), "--db", path("t.db"), "--device", "cpu"}, {path("nothing")});
  }
  EXPECT_FALSE(fs::exists(path("t.db"))) << "a failed command must not leave a database behind";
}

TEST_F(CliErrors, ConfigOfAnotherArchitecture) {
  const std::string model = model_with("config.json", "\"glm_moe_dsa\"", "\"llama\"");
  expect_error({"tune", "--model", model, "--db", path("t.db"), "--device", "cpu"}, {"llama", "glm_moe_dsa"});
}

TEST_F(CliErrors, ConfigIsNotJson) {
  const std::string model = model_with("config.json", "{", "{{");
  expect_error({"serve", "--model", model, "--device", "cpu"}, {"config.json"});
}

TEST_F(CliErrors, TensorMissing) {
  // The header keeps its length: the name is changed in place.
  const std::string model =
      model_with("model.safetensors", "model.layers.1.self_attn.o_proj", "model.layers.1.self_attn.x_proj");
  expect_error({"serve", "--model", model, "--device", "cpu", "--port", "0"},
               {"model.layers.1.self_attn.o_proj", "model.safetensors"});
}

TEST_F(CliErrors, TruncatedCheckpoint) {
  const std::string model = model_with("config.json", "{", "{");
  fs::resize_file(fs::path(model) / "model.safetensors", 100'000);
  expect_error({"serve", "--model", model, "--device", "cpu", "--port", "0"}, {"model.safetensors", "truncated"});
}

TEST_F(CliErrors, PortInUse) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  expect_error({"serve", "--model", demo.string(), "--device", "cpu", "--port", port}, {port, "in use"});
  ::close(listener);
}

TEST_F(CliErrors, DatabaseOfANewerSchema) {
  { const auto made = db::Database::open(path("new.db"), db::OpenMode::create); }
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(path("new.db").c_str(), &raw), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(raw, "PRAGMA user_version = 9999;", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(raw);
  expect_error({"db", "show", "--db", path("new.db")}, {path("new.db"), "9999"});
  expect_error({"tune", "--model", demo.string(), "--db", path("new.db"), "--device", "cpu"}, {path("new.db"), "9999"});
}

TEST_F(CliErrors, DatabaseThatIsNotSqlite) {
  write_file_atomic(path("text.db"), std::string(5000, 'x'));
  for (const char* command : {"tune", "serve", "layout"}) {
    expect_error({command, "--model", demo.string(), "--db", path("text.db"), "--device", "cpu"}, {path("text.db")});
  }
  expect_error({"export", "--db", path("text.db"), "--format", "json", "-o", path("out.json")}, {path("text.db")});
  EXPECT_EQ(read_file(path("text.db")), std::string(5000, 'x')) << "a file that is not ours must stay as it is";
  EXPECT_FALSE(fs::exists(path("out.json")));
}

TEST_F(CliErrors, DatabaseMissing) {
  expect_error({"export", "--db", path("none.db"), "--format", "json", "-o", path("out.json")}, {path("none.db")});
  expect_error({"db", "show", "--db", path("none.db")}, {path("none.db")});
}

TEST_F(CliErrors, UnknownDevice) {
  for (const char* device : {"tpu", "cpu:0", "cpu:x", "cpu:-1", ""}) {
    expect_error({"tune", "--model", demo.string(), "--db", path("t.db"), "--device", device}, {"device", "cpu"});
  }
}

TEST_F(CliErrors, ParallelismThatDoesNotFit) {
  expect_error({"serve", "--model", demo.string(), "--device", "cpu:3", "--tp", "3", "--port", "0"}, {"3", "heads"});
  expect_error({"serve", "--model", demo.string(), "--device", "cpu:2", "--tp", "2", "--dp", "2", "--port", "0"},
               {"4", "2"});
}

TEST_F(CliErrors, ImportOfSomethingElse) {
  write_file_atomic(path("not.json"), "hello");
  expect_error({"import", "--db", path("t.db"), path("not.json")}, {path("not.json")});
  write_file_atomic(path("other.json"), "{\"format\": \"something\"}");
  expect_error({"import", "--db", path("t.db"), path("other.json")}, {path("other.json"), "format"});
}

TEST(CliHelp, EveryCommandHasHelpWithExamples) {
  for (const char* command : {"tune", "layout", "report", "replay", "serve", "export", "import", "db", "doctor"}) {
    const RunResult result = run_wavetune({command, "--help"});
    EXPECT_EQ(result.exit_code, 0) << command;
    EXPECT_NE(result.out.find(std::string("Usage: wavetune ") + command), std::string::npos) << command;
    EXPECT_NE(result.out.find("Examples:"), std::string::npos) << command;
    EXPECT_TRUE(result.err.empty()) << command << ": " << result.err;
  }
  EXPECT_NE(run_wavetune({"--version"}).out.find("HIP headers"), std::string::npos);
  EXPECT_EQ(run_wavetune({}).exit_code, 2);
}

}  // namespace
}  // namespace wavetune::test
