#include "runtime/process/message_channel.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "db/base/error.h"
#include "runtime/process/subprocess.h"

namespace wavetune::process {
namespace {

using namespace std::chrono_literals;

struct Ends {
  Fd read, write;
};
Ends make_ends() {
  int fds[2];
  EXPECT_EQ(pipe(fds), 0);
  return {Fd(fds[0]), Fd(fds[1])};
}

TEST(MessageChannel, CarriesMessagesOfAnySize) {
  Ends ends = make_ends();
  MessageChannel sender(-1, ends.write.get());
  MessageChannel receiver(ends.read.get(), -1);
  std::thread writer([&] {
    for (const size_t size : {0, 1, 4096, 4097, 1'000'000})
      EXPECT_TRUE(sender.send(std::string(size, static_cast<char>(size))));
  });
  for (const size_t size : {0, 1, 4096, 4097, 1'000'000}) {
    std::string body;
    ASSERT_EQ(receiver.receive(body), ReadOutcome::message);
    EXPECT_EQ(body, std::string(size, static_cast<char>(size)));
  }
  writer.join();
  std::string body;
  EXPECT_EQ(receiver.receive(body, 0ms), ReadOutcome::timeout);
  ends.write.reset();
  EXPECT_EQ(receiver.receive(body, 1s), ReadOutcome::closed);
}

TEST(MessageChannel, KeepsHalfAMessageOverATimeout) {
  Ends ends = make_ends();
  MessageChannel receiver(ends.read.get(), -1);
  const std::string frame{'\3', 0, 0, 0, 0, 0, 0, 0, 'a', 'b', 'c'};
  std::string body;
  for (size_t i = 0; i < frame.size(); ++i) {
    ASSERT_EQ(receiver.receive(body, 0ms), ReadOutcome::timeout);
    ASSERT_EQ(write(ends.write.get(), &frame[i], 1), 1);
  }
  ASSERT_EQ(receiver.receive(body, 0ms), ReadOutcome::message);
  EXPECT_EQ(body, "abc");
  ASSERT_EQ(write(ends.write.get(), frame.data(), 9), 9);
  ends.write.reset();
  EXPECT_EQ(receiver.receive(body), ReadOutcome::closed);
}

TEST(MessageChannel, GarbageAndDeadReaders) {
  Ends ends = make_ends();
  MessageChannel receiver(ends.read.get(), -1, 1000);
  ASSERT_EQ(write(ends.write.get(), "warning: something else printed", 16), 16);
  std::string body;
  EXPECT_THROW(receiver.receive(body), Error);
  MessageChannel sender(-1, ends.write.get());
  ends.read.reset();
  EXPECT_FALSE(sender.send("nobody reads this"));
  EXPECT_FALSE(sender.send(std::string(100'000, 'x')));
}

}  // namespace
}  // namespace wavetune::process
