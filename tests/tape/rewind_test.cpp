// Positions of a tape that it goes back to: what is forgotten, refused, and recorded in its place.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tidemark/base/error.h"
#include "tidemark/base/random.h"
#include "tidemark/tape/tape.h"

namespace tidemark {
namespace {

using ::testing::HasSubstr;

TEST(Rewind, GoesToAPosition) {
  Tape tape({.chunk = 8_KiB});
  const Tape::Recording recording(tape);
  const Var x = tape.input(2.0);
  Var y = x * 3.0;
  const auto here = tape.position();
  const auto counts = tape.counts();
  for (int i = 0; i < 5000; ++i) y = sin(y) * x;
  tape.rewind(here);
  EXPECT_EQ(tape.counts().statements, counts.statements);
  EXPECT_EQ(tape.counts().tape, counts.tape);
  const Var z = x * x;
  tape.reverse(z);
  EXPECT_EQ(tape.adjoint(x), 4.0);
}

// A place stays one however often it is gone back to, under every name it was given.
TEST(Rewind, GoesToTheSamePlaceAgainAndAgain) {
  Tape tape, other;
  const Tape::Recording recording(tape);
  const auto start = tape.position();
  for (int i = 0; i < 1000; ++i) {
    const Var x = tape.input(1.0 + i);
    const auto behind = tape.position();
    tape.reverse(x * x);
    EXPECT_EQ(tape.adjoint(x), 2.0 + 2 * i);
    tape.rewind(behind);
    const auto again = tape.position();
    static_cast<void>(Var(x * 3.0));
    tape.rewind(behind);
    static_cast<void>(Var(x * 3.0));
    tape.rewind(again);
    tape.rewind(start);
    EXPECT_THROW(tape.rewind(behind), Error);
    EXPECT_THROW(tape.rewind(other.position()), Error);
  }
  EXPECT_EQ(tape.counts().statements, 0);
}

// What was recorded behind a position that was gone back to is refused wherever it turns up, also when another variable has its place.
TEST(Rewind, WhatIsForgottenIsRefused) {
  Tape tape({.chunk = 8_KiB});
  const Tape::Recording recording(tape);
  const Var x = tape.input(2.0);
  const Var early = x * 3.0;
  const auto here = tape.position();
  const Var stale = sin(early), last = stale * x;
  const auto later = tape.position();
  tape.rewind(here);
  const Var taken = cos(early), more = taken * early, most = more + x;  // in the places of the others
  ASSERT_EQ(tape::index_of(taken.key()), tape::index_of(stale.key()));
  const auto refused = [&](const auto& f) {
    try {
      f();
      return std::string("nothing was said");
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::usage);
      return std::string(e.what());
    }
  };
  for (const Var& v : {stale, last}) {
    EXPECT_THAT(refused([&] { static_cast<void>(Var(v * 2.0)); }), HasSubstr("rewound"));
    EXPECT_THAT(refused([&] { static_cast<void>(Var(v + x + early + more)); }), HasSubstr("rewound"));
    EXPECT_THAT(refused([&] { tape.reverse(v); }), HasSubstr("rewound"));
    EXPECT_THAT(refused([&] { tape.adjoint(v); }), HasSubstr("rewound"));
    EXPECT_THAT(refused([&] {
                  tape.statement(1.0, std::vector{x, v}, std::vector{1.0, 1.0});
                }),
                HasSubstr("rewound"));
  }
  EXPECT_THAT(refused([&] { tape.rewind(later); }), HasSubstr("later than where this one stands"));
  tape.reverse(most);
  EXPECT_THAT(refused([&] { tape.adjoint(stale); }), HasSubstr("rewound"));
  EXPECT_EQ(tape.adjoint(x), 3.0 * (std::cos(6.0) - 6.0 * std::sin(6.0)) + 1.0);
  // A sweep of what is forgotten is no sweep of what takes its place.
  tape.rewind(here);
  const Var again = early * early;
  EXPECT_THAT(refused([&] { tape.adjoint(again); }), HasSubstr("no sweep"));
  EXPECT_THAT(refused([&] { tape.seed(again, 1.0); }), HasSubstr("no sweep"));
  tape.reverse(again);
  EXPECT_EQ(tape.adjoint(x), 36.0);
  // An external function that kept one.
  tape.rewind(here);
  const std::vector<Var> made =
      tape.external(std::vector{1.0}, [&](auto, auto& adjoints) { adjoints.add(again, 1.0); });
  EXPECT_THAT(refused([&] { tape.reverse(made[0]); }), HasSubstr("rewound"));
  // Another tape's variable is still that.
  Tape other;
  const Var y = other.input(1.0);
  EXPECT_THAT(refused([&] { static_cast<void>(Var(y * x)); }), HasSubstr("keep each variable to its tape"));
}

// Arrays and parameters from before the position, read again and again behind it: the bits of one recording, in as many bytes.
TEST(Rewind, RecordsTheSameBehindAPositionAsBefore) {
  const auto program = [](const std::vector<Var>& u, const Var& p) {
    std::vector<Var> v = u;
    for (int s = 0; s < 6; ++s) {
      std::vector<Var> next = v;
      for (std::size_t i = 1; i + 1 < v.size(); ++i)
        next[i] =
            v[i] + p * (v[i - 1] - 2.0 * v[i] + v[i + 1]) * u[i] + 0.1 * sin(u[i - 1] * p) * u[2] * v[3] * p;
      v = next;
    }
    Var sum = 0.0;
    for (const Var& x : v) sum += x * x;
    return sum;
  };
  const auto gradient = [&](int rewinds, tape::TapeCounts& counts) {
    Tape tape({.chunk = 8_KiB});
    const Tape::Recording recording(tape);
    std::vector<Var> u;
    for (int i = 0; i < 50; ++i) u.push_back(tape.input(0.1 * i));
    const Var p = tape.input(0.3);
    const Var before = program(u, p);
    const auto here = tape.position();
    for (int k = 0; k < rewinds; ++k) {
      program(u, before);
      // Not always as far.
      if (k % 3 == 1) tape.position();
      tape.rewind(here);
    }
    const Var y = program(u, p) * before;
    tape.reverse(y);
    std::vector<double> all{y.value(), tape.adjoint(p)};
    for (const Var& v : u) all.push_back(tape.adjoint(v));
    counts = tape.counts();
    return all;
  };
  tape::TapeCounts once, often;
  const std::vector<double> expected = gradient(0, once);
  for (const int rewinds : {1, 2, 7}) {
    EXPECT_EQ(gradient(rewinds, often), expected);
    EXPECT_EQ(often.statements, once.statements);
    EXPECT_LT(often.tape, once.tape * 3 / 2);
  }
}

}  // namespace
}  // namespace tidemark
