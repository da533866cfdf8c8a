// The checker finds each kind of mistake: a valid stream with one action removed, changed or put in.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "tidemark/schedule/replay.h"
#include "tidemark/schedule/schedules.h"

namespace tidemark::schedule {
namespace {

using Kind = Action::Kind;

class Listed final : public Schedule {
 public:
  explicit Listed(std::vector<Action> actions) : actions_(std::move(actions)) {}
  Action next() override { return at_ < actions_.size() ? actions_[at_++] : Action{}; }

 private:
  std::vector<Action> actions_;
  std::size_t at_ = 0;
};

std::vector<Action> actions_of(Schedule& s) {
  std::vector<Action> out;
  do out.push_back(s.next());
  while (out.back().kind != Kind::done);
  return out;
}

std::string broken(std::vector<Action> actions, const Limits& limits) {
  Listed s(std::move(actions));
  return replay(s, limits).broken;
}

TEST(Replay, EveryRemovedActionIsNoticed) {
  for (int l = 2; l <= 12; ++l)
    for (int c = 1; c <= 4; ++c) {
      const auto all = actions_of(*revolve(l, c));
      ASSERT_EQ(broken(all, {.steps = l, .slots = {c}}), "");
      for (std::size_t i = 0; i + 1 < all.size(); ++i) {
        auto fewer = all;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        EXPECT_NE(broken(fewer, {.steps = l, .slots = {c}}), "") << l << " " << c << " without action " << i;
      }
    }
}

TEST(Replay, Limits) {
  EXPECT_EQ(check(*revolve(20, 3), 20, 3), "");
  EXPECT_EQ(check(*revolve(20, 3), 20, 2).find("action 4: save"), 0u);
  EXPECT_NE(check(*revolve(20, 3), 21, 3), "");
  EXPECT_NE(check(*revolve(20, 3), 19, 3), "");
  EXPECT_EQ(replay(*store_all(9), {.steps = 9, .taped_steps = 9}).broken, "");
  EXPECT_EQ(replay(*store_all(9), {.steps = 9, .taped_steps = 8}).broken,
            "action 0: advance [0, 9) tapes 9 steps vs 8 at most");
}

TEST(Replay, Bytes) {
  const auto ten = [](std::int64_t) { return Bytes{10}; };
  const auto three = [](std::int64_t) { return Bytes{3}; };
  const Limits limits{.steps = 50, .state_bytes = ten, .tape_bytes = three, .bytes = 43};
  const Replay r = replay(*revolve(50, 4), limits);
  EXPECT_EQ(r.broken, "");
  EXPECT_EQ(r.counts.bytes, 43);
  EXPECT_NE(replay(*revolve(50, 5), limits).broken, "");
}

TEST(Replay, WrongTargets) {
  const Limits limits{.steps = 2, .slots = {2}};
  const Action save{.kind = Kind::save}, tape{.kind = Kind::advance, .from = 0, .to = 1, .keep = 1};
  EXPECT_NE(broken({save, save}, limits).find("overwrites"), std::string::npos);
  EXPECT_NE(broken({{.kind = Kind::restore}}, limits).find("empty slot"), std::string::npos);
  EXPECT_NE(broken({{.kind = Kind::discard}}, limits).find("empty slot"), std::string::npos);
  EXPECT_NE(broken({{.kind = Kind::save, .slot = {0, 2}}}, limits).find("slot 2 of 2"), std::string::npos);
  EXPECT_NE(broken({{.kind = Kind::save, .slot = {1, 0}}}, limits).find("slot 0 of 0"), std::string::npos);
  EXPECT_NE(broken({tape, {.kind = Kind::reverse, .from = 0, .to = 1}}, limits).find("the adjoint is at 2"),
            std::string::npos);
  EXPECT_NE(broken({{.kind = Kind::advance, .from = 0, .to = 2}, {.kind = Kind::reverse, .from = 1, .to = 2}},
                   limits)
                .find("lacks"),
            std::string::npos);
}

}  // namespace
}  // namespace tidemark::schedule
