// What tests of compiled programs look at: the bits of results, and what plans run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tidemark/compile/compiled.h"

namespace tidemark {

inline void expect_bits(const Tensors& a, const Tensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].type(), b[i].type());
    EXPECT_EQ(std::memcmp(a[i].storage()->data(), b[i].storage()->data(),
                          static_cast<std::size_t>(a[i].type().bytes())),
              0)
        << i;
  }
}

// Runs of the codec for zeros.
inline int encodes(const Compiled& c) {
  return static_cast<int>(
      std::count_if(c.plan().steps.begin(), c.plan().steps.end(), [&](const plan::Step& s) {
        return s.kind == plan::Step::Kind::run &&
               c.problem().tasks[static_cast<std::size_t>(s.id)].kind == "encode zeros";
      }));
}

}  // namespace tidemark
