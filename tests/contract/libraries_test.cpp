// What libraries keep on the heap inside steps is measured and told.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/libraries.h"

#include <gtest/gtest.h>

#include "tests/contract/zoo_cases.h"

namespace tidemark {
namespace {

TEST(Libraries, WhatAStepLeavesOnTheHeapIsCounted) {
  HeapWatch watch;
  std::vector<std::vector<char>> kept;
  const auto step = [&](std::size_t bytes) {
    watch.before(true);
    if (bytes > 0) kept.emplace_back(bytes);
    watch.after();
  };
  kept.reserve(16);
  step(100'000);
  step(0);
  ASSERT_TRUE(watch.found().known);
  EXPECT_GE(watch.found().first, 100'000);
  EXPECT_EQ(watch.found().later, 0);
  step(40'000'000);  // mapped, not from the heap's own
  EXPECT_GE(watch.found().later, 40'000'000);
  EXPECT_EQ(watch.found().steps, 3);
  watch.before(false);
  watch.after();
  EXPECT_EQ(watch.found().steps, 3) << "while a plan is made nothing is known";
}

TEST(Libraries, KeepNothingMoreFromStepToStep) {
  for (const ModelCase& c : zoo_cases()) {
    if (std::string_view(c.model) != "gpt2-124m" && std::string_view(c.model) != "mobilenet-v2") continue;
    const TrainSetting setting(c);
    auto f = compile(setting.step, {.memory = 1.0, .state = 1, .time_limit = 0.2, .correct = false});
    setting.after(f, 40);
    const LibraryMemory& found = f.plan_for(setting.start(), setting.batch).libraries();
    ASSERT_TRUE(found.known);
    EXPECT_EQ(found.steps, 10) << "the first eight, the 16th, the 32nd";
    // Small pieces that were given back lie in malloc's caches for threads, which its books count as given out.
    EXPECT_LE(found.later, 4096) << c.model;
    EXPECT_LT(found.first, 1_MiB) << c.model;
  }
}

}  // namespace
}  // namespace tidemark
