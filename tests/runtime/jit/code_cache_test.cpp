#include "runtime/jit/code_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "db/base/file.h"
#include "runtime/process/subprocess.h"

namespace wavetune::jit {
namespace {

CachedCode entry_of(std::size_t bytes, std::byte value = std::byte{7}) {
  CachedCode entry;
  entry.code.assign(bytes, value);
  entry.log = "a warning";
  entry.resources.vgpr = 128;
  entry.resources.spills = 0;
  return entry;
}

class Cache : public testing::Test {
 protected:
  std::filesystem::path file(const std::string& key) const { return directory_.path() / (key + ".code"); }
  process::TemporaryDirectory directory_{"wavetune-cache-test"};
};

TEST_F(Cache, GivesBackWhatWasStored) {
  CodeCache cache(directory_.path(), 1 << 20);
  EXPECT_FALSE(cache.load("k").has_value());
  cache.store("k", entry_of(1000));
  const auto found = CodeCache(directory_.path(), 1 << 20).load("k");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->code, entry_of(1000).code);
  EXPECT_EQ(found->log, "a warning");
  EXPECT_EQ(found->resources, entry_of(0).resources);
}

TEST_F(Cache, DamagedEntriesAreAbsentAndRemoved) {
  CodeCache cache(directory_.path(), 1 << 20);
  cache.store("k", entry_of(1000));
  const std::string good = read_file(file("k"));
  std::vector<std::string> damaged = {"", "wavetune code 1\n", good.substr(0, 60), good.substr(0, good.size() - 1),
                                      good + "x"};
  for (std::size_t at : {std::size_t{0}, std::size_t{20}, std::size_t{50}, good.size() - 1}) {
    damaged.push_back(good);
    damaged.back()[at] ^= 1;
  }
  for (const std::string& bytes : damaged) {
    write_file_atomic(file("k"), bytes);
    EXPECT_FALSE(cache.load("k").has_value()) << bytes.size();
    EXPECT_FALSE(std::filesystem::exists(file("k")));
  }
}

TEST_F(Cache, TheLongestUnusedEntriesAreEvicted) {
  CodeCache cache(directory_.path(), 9'000);
  const auto age = [&](const std::string& key, int minutes) {
    std::filesystem::last_write_time(file(key),
                                     std::filesystem::file_time_type::clock::now() - std::chrono::minutes(minutes));
  };
  cache.store("old", entry_of(3000));
  cache.store("used", entry_of(3000));
  age("old", 10);
  age("used", 20);
  EXPECT_TRUE(cache.load("used").has_value());  // renews it
  cache.store("new", entry_of(3500));
  EXPECT_FALSE(cache.load("old").has_value());
  EXPECT_TRUE(cache.load("used").has_value());
  EXPECT_TRUE(cache.load("new").has_value());
}

TEST_F(Cache, CountsWhatOthersLeftThere) {
  CodeCache(directory_.path(), 1 << 20).store("a", entry_of(6000));
  CodeCache small(directory_.path(), 8'000);
  small.store("b", entry_of(3000));
  EXPECT_FALSE(std::filesystem::exists(file("a")));
}

TEST_F(Cache, TwoUsersAtOnceNeverSeeHalfAnEntry) {
  const auto work = [&](int seed) {
    CodeCache cache(directory_.path(), 60'000);
    for (int i = 0; i < 150; ++i) {
      const std::string key = std::to_string((i * 7 + seed) % 23);
      if (const auto found = cache.load(key)) {
        EXPECT_EQ(found->code.size(), 4000u);
      } else {
        cache.store(key, entry_of(4000));
      }
    }
  };
  std::thread other(work, 1);
  work(2);
  other.join();
}

TEST_F(Cache, TwoProcessesShareADirectory) {
  // Each stores, reads and evicts what the other does too; an entry is whole or absent, and its content is its key's.
  const auto work = [&](int seed) {
    int wrong = 0;
    CodeCache cache(directory_.path(), 60'000);
    for (int i = 0; i < 300; ++i) {
      const int number = (i * 7 + seed) % 23;
      const std::string key = std::to_string(number);
      if (const auto found = cache.load(key))
        wrong += found->code == entry_of(4000, std::byte(number)).code ? 0 : 1;
      else
        cache.store(key, entry_of(4000, std::byte(number)));
    }
    return wrong;
  };
  const pid_t other = ::fork();
  ASSERT_GE(other, 0);
  if (other == 0) ::_exit(work(1));
  EXPECT_EQ(work(2), 0);
  int status = -1;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0) << "wrong entries in the other process";
  std::size_t bytes = 0;
  for (const auto& item : std::filesystem::directory_iterator(directory_.path())) {
    EXPECT_EQ(item.path().extension(), ".code") << "nothing half-written stays";
    bytes += item.file_size();
  }
  EXPECT_GT(bytes, 0u);
}

TEST_F(Cache, ADirectoryThatCannotBeMadeIsNoError) {
  CodeCache cache("/proc/none/such", 1 << 20);
  cache.store("k", entry_of(10));
  EXPECT_FALSE(cache.load("k").has_value());
}

TEST(CacheKey, DependsOnEveryPart) {
  const std::string key = CodeCache::key("g++ 12", "int x;", {"-a", "-b"});
  EXPECT_EQ(key, CodeCache::key("g++ 12", "int x;", {"-a", "-b"}));
  EXPECT_NE(key, CodeCache::key("g++ 13", "int x;", {"-a", "-b"}));
  EXPECT_NE(key, CodeCache::key("g++ 12", "int y;", {"-a", "-b"}));
  EXPECT_NE(key, CodeCache::key("g++ 12", "int x;", {"-b", "-a"}));
  EXPECT_NE(CodeCache::key("c", "", {"ab", "c"}), CodeCache::key("c", "", {"a", "bc"}));
}

TEST(DefaultCacheDirectory, FollowsTheEnvironment) {
  const char* before = std::getenv("WAVETUNE_CACHE_DIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("WAVETUNE_CACHE_DIR", "/somewhere/else", 1);
  EXPECT_EQ(default_cache_directory(), "/somewhere/else");
  if (kept.empty())
    ::unsetenv("WAVETUNE_CACHE_DIR");
  else
    ::setenv("WAVETUNE_CACHE_DIR", kept.c_str(), 1);
}

}  // namespace
}  // namespace wavetune::jit
