#include "db/sqlite/journal.h"

#include <gtest/gtest.h>

#include "db/database.h"
#include "fixtures.h"

namespace wavetune::db::sqlite {
namespace {

TEST(Journal, KnowsNetworkFileSystems) {
  struct Case {
    long magic;
    std::optional<std::string_view> name;
  };
  const Case cases[] = {{0x6969, "NFS"},
                        {static_cast<int>(0xFF534D42), "CIFS"},
                        {0x0BD00BD0, "Lustre"},
                        {0xEF53, std::nullopt},
                        {0x01021994, std::nullopt},
                        {0x58465342, std::nullopt},
                        {0x9123683E, std::nullopt}};
  for (const Case& one : cases) EXPECT_EQ(network_file_system(one.magic), one.name) << one.magic;
}

TEST(Journal, LocalFilesUseTheWriteAheadLogAndAreFlushed) {
  const TemporaryFolder folder;
  if (network_file_system_of(folder.path())) GTEST_SKIP() << "the temporary folder is on a network file system";
  Connection connection(folder / "new.db", Access::create);
  set_journal(connection);
  EXPECT_EQ(connection.scalar("PRAGMA journal_mode"), "wal");
  EXPECT_EQ(connection.scalar("PRAGMA synchronous"), "2");
}

}  // namespace
}  // namespace wavetune::db::sqlite
