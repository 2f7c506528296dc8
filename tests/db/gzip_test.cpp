// gzip in memory: round trips, several members, and what broken files say.
#include "db/base/gzip.h"

#include <gmock/gmock.h>

#include "fixtures.h"

namespace wavetune {
namespace {

using db::error_of;
using testing::HasSubstr;

TEST(Gzip, RoundTrips) {
  std::string large;
  for (int i = 0; i < 200'000; ++i) large += std::to_string(i * 2654435761U);
  for (const std::string& content : {std::string(), std::string("a"), std::string("\0\xff", 2), large}) {
    const std::string packed = gzip(content);
    EXPECT_TRUE(is_gzip(packed));
    EXPECT_TRUE(gunzip(packed, "x") == content) << content.size();
    EXPECT_EQ(packed, gzip(content));
  }
}

TEST(Gzip, MembersFollowEachOther) { EXPECT_EQ(gunzip(gzip("one ") + gzip("two"), "x"), "one two"); }

TEST(Gzip, BrokenFilesSayWhatIsWrong) {
  const std::string packed = gzip("some content that is long enough to be cut in its middle");
  for (const std::size_t length : {std::size_t{2}, std::size_t{12}, packed.size() / 2, packed.size() - 1}) {
    const Error error = error_of([&] { gunzip(packed.substr(0, length), "cut.gz"); });
    EXPECT_EQ(error.kind(), ErrorKind::bad_data);
    EXPECT_THAT(error.what(), testing::StartsWith("cut.gz: the gzip data end early")) << length;
  }
  std::string damaged = packed;
  damaged[packed.size() - 6] = static_cast<char>(damaged[packed.size() - 6] ^ 1);  // in the checksum
  EXPECT_THAT(error_of([&] { gunzip(damaged, "bad.gz"); }).what(), HasSubstr("bad.gz: damaged gzip data"));
  EXPECT_THAT(error_of([&] { gunzip(packed + "rest", "bad.gz"); }).what(), HasSubstr("bad.gz: damaged gzip data"));
  EXPECT_FALSE(is_gzip("{}"));
}

}  // namespace
}  // namespace wavetune
