// SPDX-License-Identifier: Apache-2.0
#include "tidemark/base/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace tidemark {
namespace {

using Chunks = std::set<std::pair<std::int64_t, std::int64_t>>;

Chunks chunks_of(int threads, std::int64_t n, std::int64_t grain) {
  Chunks chunks;
  std::mutex mutex;
  parallel_for(threads, n, grain, [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(chunks.emplace(begin, end).second) << begin;
  });
  return chunks;
}

TEST(Parallel, AForkedChildDoesWithoutTheThreads) {
  EXPECT_EQ(chunks_of(3, 100, 1).size(), 100u);  // the team is there
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    static bool whole = false;
    whole = chunks_of(3, 100, 1).size() == 100;
    // exit() runs the destructor of the child's team and then this, before a sanitizer looks for threads that are not there.
    std::atexit([] { _exit(whole ? 0 : 1); });
    std::exit(2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Parallel, TheSameChunksOnceEachWhateverTheThreads) {
  for (const std::int64_t n : {0, 1, 7, 64, 1000}) {
    for (const std::int64_t grain : {1, 3, 64}) {
      const Chunks alone = chunks_of(1, n, grain);
      std::int64_t covered = 0;
      for (const auto& [begin, end] : alone) covered += end - begin;
      EXPECT_EQ(covered, n);
      for (const int threads : {2, 3, 8, 2})
        EXPECT_EQ(chunks_of(threads, n, grain), alone) << n << " " << grain << " " << threads;
    }
  }
}

TEST(Parallel, WhatALoopWroteIsThereForTheNext) {
  std::vector<std::int64_t> x(4096, 0), y(x.size(), 0);
  for (std::int64_t round = 1; round <= 2000; ++round) {
    const int threads = static_cast<int>(1 + round % 5);
    parallel_for(threads, 4096, 256, [&](std::int64_t i, std::int64_t end) {
      for (; i < end; ++i) x[static_cast<std::size_t>(i)] = round + i;
    });
    parallel_for(threads, 4096, 512, [&](std::int64_t i, std::int64_t end) {
      for (; i < end; ++i) y[static_cast<std::size_t>(i)] = x[4095 - static_cast<std::size_t>(i)];
    });
    for (const std::size_t i : {0u, 255u, 2048u, 4095u})
      ASSERT_EQ(y[i], round + 4095 - static_cast<std::int64_t>(i));
  }
}

TEST(Parallel, ALoopInsideALoopRunsOnItsThread) {
  std::atomic<int> elsewhere = 0, ran = 0;
  parallel_for(4, 16, 1, [&](std::int64_t, std::int64_t) {
    const auto here = std::this_thread::get_id();
    parallel_for(4, 8, 1, [&](std::int64_t, std::int64_t) {
      elsewhere += std::this_thread::get_id() != here;
      ++ran;
    });
  });
  EXPECT_EQ(ran, 16 * 8);
  EXPECT_EQ(elsewhere, 0);
}

TEST(Parallel, ThreadsThatCallAtOnceHaveTeamsOfTheirOwn) {
  std::vector<std::thread> callers;
  std::vector<std::int64_t> sums(4, 0);
  for (std::size_t c = 0; c < sums.size(); ++c) {
    callers.emplace_back([&sums, c] {
      for (int round = 0; round < 200; ++round) {
        std::atomic<std::int64_t> sum = 0;
        parallel_for(3, 1000, 10, [&](std::int64_t i, std::int64_t end) {
          for (; i < end; ++i) sum += i;
        });
        sums[c] += sum;
      }
    });
  }
  for (std::thread& t : callers) t.join();
  for (const std::int64_t sum : sums) EXPECT_EQ(sum, 200 * 499500);
}

}  // namespace
}  // namespace tidemark
