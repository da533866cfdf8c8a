// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "tidemark/base/bytes.h"
#include "tidemark/base/error.h"
#include "tidemark/base/json.h"
#include "tidemark/base/random.h"
#include "tidemark/base/text.h"

namespace tidemark {
namespace {

TEST(Bytes, ReadsAndWrites) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(5_GiB), "5.00 GiB");
  EXPECT_EQ(format_bytes(1_MiB + 64, 1_MiB), "1.00 MiB (1048640 bytes)");
  EXPECT_EQ(format_bytes(1_MiB, 1_MiB), "1.00 MiB");
  EXPECT_EQ(format_bytes(2_MiB, 1_MiB), "2.00 MiB");
  EXPECT_EQ(parse_bytes("4096"), 4096);
  EXPECT_EQ(parse_bytes("1.5 MiB"), 1536_KiB);
  EXPECT_EQ(parse_bytes("2GB"), 2000000000);
  EXPECT_THROW(parse_bytes("8 parsecs"), Error);
  EXPECT_THROW(parse_bytes("-1"), Error);
  EXPECT_THROW(parse_bytes("1.5"), Error) << "no half bytes";
  EXPECT_THROW(parse_bytes("nan"), Error);
  EXPECT_THROW(parse_bytes("1e30GiB"), Error);
  EXPECT_EQ(round_up(10, 4), 12);
}

// The known-answer vectors of the Random123 distribution.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(Philox::block(0, 0, 0), (Philox::Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox::block(~0ull, ~0ull, ~0ull),
            (Philox::Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Text, GlobMatch) {
  EXPECT_TRUE(glob_match("blocks.*", "blocks.3.attn"));
  EXPECT_TRUE(glob_match("*.attn", "blocks.3.attn"));
  EXPECT_TRUE(glob_match("b?ocks*n", "blocks.3.attn"));
  EXPECT_FALSE(glob_match("blocks.4*", "blocks.3.attn"));
  EXPECT_FALSE(glob_match("", "x"));
}

TEST(Text, MissingFileNamesIt) {
  try {
    read_file("/nonexistent/file.json");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::io);
    EXPECT_NE(std::string(e.what()).find("/nonexistent/file.json"), std::string::npos);
  }
}

// Two processes that plan the same program write the same file of a folder of plans.
TEST(Text, FilesOfManyWritersAreWhole) {
  const std::string folder = testing::TempDir() + "tidemark_writers", path = folder + "/file";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto text = [](int writer, int round) {
    return std::string(static_cast<std::size_t>(300'000 + 1000 * round), static_cast<char>('a' + writer));
  };
  write_file(path, text(0, 0));
  std::atomic<int> failed{0}, torn{0}, running{4};
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([&, w] {
      for (int round = 0; round < 60; ++round) {
        try {
          write_file(path, text(w, round));
        } catch (const Error&) {
          ++failed;
        }
      }
      --running;
    });
  }
  while (running > 0) {
    const std::string seen = read_file(path);
    const bool whole = seen.size() >= 300'000 && seen.size() % 1000 == 0 &&
                       seen.find_first_not_of(seen[0]) == std::string::npos;
    torn += !whole;
  }
  for (std::thread& t : writers) t.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(torn, 0);
  const auto files = std::filesystem::directory_iterator(folder);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "nothing is left beside";
  std::filesystem::remove_all(folder);
}

TEST(Json, WritesNestedValues) {
  JsonWriter w;
  w.begin_object()
      .field("a", 1)
      .key("b")
      .begin_array()
      .value(0.1)
      .value("x\"\n")
      .value(true)
      .end_array()
      .end_object();
  EXPECT_EQ(w.text(), R"({"a": 1, "b": [0.1, "x\"\n", true]})");
}

}  // namespace
}  // namespace tidemark
