#include "db/transfer/bundle.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "../fixtures.h"
#include "db/base/file.h"
#include "db/base/hash.h"

namespace wavetune::db {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

Bundle example_bundle() {
  Bundle bundle;
  bundle.environment = example_environment();
  for (const std::int64_t m : {64, 16, 1}) {
    const Trial trial = example_trial(m, 0.1 * static_cast<double>(m));
    bundle.winners.push_back({example_problem(m), trial.config, trial.median_us, trial.resources, trial.source_hash});
  }
  bundle.layouts = {example_layout(), example_layout()};
  bundle.layouts.back().devices = 2;
  bundle.code = {{"key of one", bytes_of(std::string("\0\n code \xff", 9))}, {"another", bytes_of("more")}, {"no", {}}};
  return bundle;
}

class BundleTest : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& bytes) {
    write_file_atomic(folder_ / "tuned.wtb", bytes);
    return folder_ / "tuned.wtb";
  }
  std::string error_of_reading(const std::string& bytes) {
    const auto file = write(bytes);
    const std::string message = error_of([&] { read_bundle(file); }).what();
    EXPECT_THAT(message, testing::HasSubstr("tuned.wtb")) << "which file";
    return message;
  }

  TemporaryFolder folder_;
};

TEST_F(BundleTest, ReadsWhatWasPacked) {
  const Bundle bundle = example_bundle();
  const std::string bytes = pack_bundle(bundle);
  const auto file = write(bytes);
  EXPECT_TRUE(is_bundle(file));
  const Bundle read = read_bundle(file);
  EXPECT_EQ(read.environment, bundle.environment);
  EXPECT_EQ(read.code, bundle.code);
  EXPECT_EQ(read.hash, bundle_hash(bytes));
  ASSERT_EQ(read.winners.size(), 3u);
  for (const Winner& winner : bundle.winners) {
    const auto same = std::ranges::find(read.winners, winner.problem, &Winner::problem);
    ASSERT_NE(same, read.winners.end());
    EXPECT_EQ(same->config, winner.config);
    EXPECT_EQ(same->median_us, winner.median_us);
    EXPECT_EQ(same->resources, winner.resources);
    EXPECT_EQ(same->source_hash, winner.source_hash);
  }
  ASSERT_EQ(read.layouts.size(), 2u);
  EXPECT_EQ(read.layouts[0].tp, bundle.layouts[0].tp);
  EXPECT_EQ(read.layouts[0].created_at, bundle.layouts[0].created_at);
  EXPECT_EQ(read.layouts[0].table.size(), bundle.layouts[0].table.size());
}

TEST_F(BundleTest, TheSameContentInAnyOrderGivesTheSameBytes) {
  Bundle bundle = example_bundle();
  const std::string bytes = pack_bundle(bundle);
  std::ranges::reverse(bundle.winners);
  std::ranges::reverse(bundle.layouts);
  EXPECT_EQ(pack_bundle(bundle), bytes);
  EXPECT_EQ(pack_bundle(read_bundle(write(bytes))), bytes);
  bundle.winners[0].config.begin()->second += 1;
  EXPECT_NE(bundle_hash(pack_bundle(bundle)), bundle_hash(bytes));
}

/// Every byte counts: the head names the format, the hash covers all that follows.
TEST_F(BundleTest, AChangedByteAnywhereIsRefused) {
  const std::string bytes = pack_bundle(example_bundle());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x04);
    EXPECT_FALSE(error_of_reading(changed).empty()) << at;
  }
  EXPECT_THAT(error_of_reading(bytes + "x"), testing::HasSubstr("changed or cut off"));
}

TEST_F(BundleTest, ATruncatedFileIsRefused) {
  const std::string bytes = pack_bundle(example_bundle());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(error_of_reading(bytes.substr(0, size)).empty()) << size;
}

/// A file whose hash is right and whose content is not: of another program, or made on purpose.
TEST_F(BundleTest, WrongContentUnderARightHashIsRefused) {
  const auto with_payload = [](const std::string& payload) {
    return "wavetune-bundle 1\n" + content_hash(payload) + "\n" + payload;
  };
  EXPECT_FALSE(error_of_reading(with_payload("no gzip")).empty());
  EXPECT_FALSE(error_of_reading(with_payload("")).empty());
}

TEST_F(BundleTest, ANewerFormatIsNamed) {
  std::string bytes = pack_bundle(example_bundle());
  bytes.replace(bytes.find(" 1\n"), 2, " 2");
  EXPECT_THAT(error_of_reading(bytes), testing::AllOf(testing::HasSubstr("format '2'"), testing::HasSubstr("reads 1")));
}

TEST_F(BundleTest, OtherFilesAreNone) {
  EXPECT_FALSE(is_bundle(write("{\"format\": \"wavetune-db\"}")));
  EXPECT_FALSE(is_bundle(write("")));
  EXPECT_FALSE(is_bundle(folder_ / "absent"));
  EXPECT_THAT(error_of([&] { read_bundle(folder_ / "absent"); }).what(), testing::HasSubstr("absent"));
}

}  // namespace
}  // namespace wavetune::db
