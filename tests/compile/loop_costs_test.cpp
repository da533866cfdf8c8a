// What a loop is predicted to take, beside every schedule that has a name, in the same bytes.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tidemark/compile/loops.h"
#include "tidemark/schedule/registry.h"
#include "tidemark/schedule/schedules.h"

namespace tidemark {
namespace {

namespace named = schedule;
using Kind = named::Action::Kind;

// Seconds of a step, in those of its forward run.
struct Prices {
  double taping = 1, untaping = 1, copy = 0;  // copy: of a state to or from the tier
};

struct Taken {
  double seconds = 0;
  Bytes bytes = 0;  // in memory, without the first state: a compiled loop has it outside of its area
};

Taken taken(const char* name, const named::Spec& spec, Bytes state, Bytes tape, const Prices& p) {
  Taken t;
  const named::SchedulePtr s = named::schedule_named(name).make(spec);
  const named::Limits limits{.steps = spec.steps, .slots = {-1, -1}};
  Bytes held = 0, on_tape = 0;
  const named::Replay r = named::replay(*s, limits, [&](const named::Action& a) {
    const auto steps = static_cast<double>(a.to - a.from), kept = static_cast<double>(a.keep);
    const bool in_memory = a.slot.tier == 0;
    const Bytes moved = a.what == named::Action::What::tape ? (a.to - a.from) * tape
                        : a.from == 0                       ? 0
                                                            : state;
    const bool is_tape = a.what == named::Action::What::tape;
    switch (a.kind) {
      case Kind::advance:
        t.seconds += steps - kept + kept * p.taping;
        on_tape += a.keep * tape;
        break;
      case Kind::reverse:
        t.seconds += steps * p.untaping;
        on_tape -= (a.to - a.from) * tape;
        break;
      case Kind::save:
        if (in_memory) held += moved;
        if (is_tape) on_tape -= moved;
        t.seconds += in_memory ? 0 : p.copy;
        break;
      case Kind::restore:
        if (in_memory && is_tape) held -= moved;
        if (is_tape) on_tape += moved;
        t.seconds += in_memory ? 0 : p.copy;
        break;
      case Kind::discard:
        if (in_memory) held -= moved;
        break;
      case Kind::done:
        break;
    }
    t.bytes = std::max(t.bytes, held + on_tape);
  });
  EXPECT_EQ(r.broken, "");
  return t;
}

// The fastest way of a compiled loop, as choose_loops has them: states alone or with tapes; in a tier with room for so
// many states, every k-th there, or by the table.
double ours(std::int64_t steps, Bytes state, Bytes tape, Bytes bytes, std::int64_t in_tier, const Prices& p) {
  double best = -1;
  for (const Bytes kept : {Bytes{0}, tape}) {
    LoopCosts c{.trips = steps,
                .state = state,
                .tape = kept,
                .body = 1,
                .advance = 1,
                .adjoint = p.taping + p.untaping,
                .body_taping = p.taping,
                .taping = p.taping,
                .untaping = p.untaping,
                .write = p.copy,
                .read = p.copy};
    const auto consider = [&] {
      const Bytes area = std::min(bytes, c.most());
      const double seconds = c.first_sweep(area) + c.reverse_sweep(area);
      if (best < 0 || seconds < best) best = seconds;
    };
    consider();
    for (std::int64_t segments = 2; segments <= std::min(steps, in_tier + 1); ++segments) {
      c.period = (steps + segments - 1) / segments;
      consider();
    }
    c.period = 0;
    if (in_tier > 0) {
      c.split_in_tier(std::min(bytes, c.most()), in_tier, 2000);
      consider();
    }
  }
  return best;
}

TEST(LoopCosts, NeverSlowerThanTheNamedSchedulesInTheSameBytes) {
  constexpr Bytes kState = 640;
  for (const char* name : {"store_all", "periodic", "sqrt", "binary", "revolve", "mixed"}) {
    for (const std::int64_t steps : {1, 2, 7, 30, 100, 365}) {
      for (const std::int64_t slots : {1, 2, 3, 5, 10, 20, 50}) {
        for (const Bytes tape : {64, 640, 6400}) {
          // Slots of one size hold either: mixed is at its best where both have it.
          if (std::string_view(name) == "mixed" && tape != kState) continue;
          for (const Prices& p : {Prices{1, 1}, Prices{1.4, 1}, Prices{1, 2.5}}) {
            const Taken t = taken(name, {.steps = steps, .slots = slots}, kState, tape, p);
            EXPECT_LE(ours(steps, kState, tape, t.bytes, 0, p), t.seconds * (1 + 1e-12))
                << name << ": " << steps << " steps, " << slots << " slots, tapes of " << tape << ", prices "
                << p.taping << " " << p.untaping;
          }
        }
      }
    }
  }
}

TEST(LoopCosts, TheBoundIsNeverAboveAndSometimesReached) {
  int reached = 0;
  for (const std::int64_t trips : {1, 2, 9, 60, 300}) {
    for (const Bytes tape : {0, 64, 640, 6400}) {
      for (const Bytes bytes : {0, 640, 3200, 12800, 640 * 300, 6400 * 300}) {
        LoopCosts c{.trips = trips,
                    .state = 640,
                    .tape = tape,
                    .body = 1,
                    .advance = 1,
                    .adjoint = 1,
                    .body_taping = 1,
                    .taping = 1};
        const Bytes area = std::min(bytes, c.most());
        for (const std::int64_t in_tier : {0, 1, 5}) {
          if (in_tier > 0) c.split_in_tier(area, in_tier, 1000);
          const double runs = c.forward_runs(area), least = c.least_forward_runs(area);
          EXPECT_LE(least, runs * (1 + 1e-12))
              << trips << " steps, tapes of " << tape << " in " << area << ", " << in_tier;
          EXPECT_GE(least, 1);
          reached += least > 1 && least > runs * (1 - 1e-12) ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(reached, 20);
}

void expect_no_slower_in_tiers(std::span<const std::int64_t> lengths, std::span<const std::int64_t> rooms) {
  constexpr Bytes kState = 640;
  for (const char* name : {"multistage", "disk_revolve", "h_revolve"}) {
    for (const std::int64_t steps : lengths) {
      for (const std::int64_t slots : {1, 2, 5, 20}) {
        for (const double copy : {0.1, 0.5, 2.0, 5.0, 50.0}) {
          for (const std::int64_t in_tier : rooms) {
            const std::int64_t room = in_tier > 0 ? in_tier : steps;
            // disk_revolve takes as many as it likes.
            if (std::string_view(name) == "disk_revolve" && room < steps) continue;
            const Prices p{1, 1.5, copy};
            const named::Spec spec{
                .steps = steps, .slots = slots, .disk_slots = room, .disk_write = copy, .disk_read = copy};
            const Taken t = taken(name, spec, kState, kState, p);
            EXPECT_LE(ours(steps, kState, kState, t.bytes, room, p), t.seconds * (1 + 1e-12))
                << name << ": " << steps << " steps, " << slots << " slots, " << room
                << " in a tier, a copy at " << copy;
          }
        }
      }
    }
  }
}

TEST(LoopCosts, NeverSlowerThanTheNamedSchedulesWithATier) {
  // 0: room for every state.
  expect_no_slower_in_tiers(std::vector<std::int64_t>{2, 7, 30, 100},
                            std::vector<std::int64_t>{1, 2, 3, 8, 30, 0});
}

TEST(SlowLoopCosts, NeverSlowerThanTheNamedSchedulesWithATier_Slow) {
  expect_no_slower_in_tiers(std::vector<std::int64_t>{250, 365, 1000},
                            std::vector<std::int64_t>{1, 2, 3, 5, 8, 20, 60, 0});
}

}  // namespace
}  // namespace tidemark
