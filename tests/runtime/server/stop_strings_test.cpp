#include "runtime/server/stop_strings.h"

#include <gtest/gtest.h>

namespace wavetune::server {
namespace {

struct Case {
  std::vector<std::string> stops;
  std::string text;
  std::string shown;
  bool stopped;
};

const Case cases[] = {
    {{}, "anything", "anything", false},
    {{"STOP"}, "go on STO", "go on STO", false},
    {{"STOP"}, "one STOP two", "one ", true},
    {{"STOP"}, "STOP", "", true},
    {{"aab"}, "aaab", "a", true},
    {{"aa"}, "baaa", "b", true},
    {{"abcX", "bc"}, "abcX", "a", true},
    {{"bc", "abc"}, "xabc", "x", true},
    {{"\n\n"}, "line\nline\n\nmore", "line\nline", true},
    {{"。"}, "你好。再见", "你好", true},
    {{"🙂"}, "a🙃b🙂c", "a🙃b", true},
    {{"ab", "ba"}, "xaxbxab", "xaxbx", true},
};

// However the text is cut, the same comes out.
TEST(StopStrings, AnyCut) {
  for (const Case& one : cases) {
    for (size_t width = 1; width <= one.text.size(); ++width) {
      StopStrings stop(one.stops);
      std::string shown;
      for (size_t at = 0; at < one.text.size(); at += width) shown += stop.push(one.text.substr(at, width));
      EXPECT_EQ(stop.stopped(), one.stopped) << one.text;
      shown += stop.finish();
      EXPECT_EQ(shown, one.shown) << one.text << " in pieces of " << width;
    }
  }
}

TEST(StopStrings, HoldsBackOnlyWhatMayBeAStop) {
  StopStrings stop({"</end>"});
  EXPECT_EQ(stop.push("a < b"), "a < b");
  EXPECT_EQ(stop.push(" </e"), " ");
  EXPECT_EQ(stop.push("m>"), "</em>");
  EXPECT_EQ(stop.push("</en"), "");
  EXPECT_EQ(stop.push("d> lost"), "");
  EXPECT_TRUE(stop.stopped());
  EXPECT_EQ(stop.push("lost"), "");
  EXPECT_EQ(stop.finish(), "");
}

}  // namespace
}  // namespace wavetune::server
