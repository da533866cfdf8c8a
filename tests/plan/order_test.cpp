// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "tidemark/base/random.h"

namespace tidemark::plan {
namespace {

// Layers of tasks on random buffers: updates, in-place pairs, workspace, optional tasks, residents and
// outputs.
Problem random_problem(Rng& rng, int tasks) {
  Problem p;
  p.align = rng.below(2) == 0 ? 1 : 8;
  p.tiers.push_back({"host", 1, 1, 0, 1000});
  const auto buffer = [&](bool resident) {
    Buffer b{.name = "b" + std::to_string(p.buffers.size()), .bytes = rng.below(60), .resident = resident};
    if (!resident && rng.below(12) == 0) b.end = 0;
    p.buffers.push_back(b);
    return static_cast<BufferId>(p.buffers.size() - 1);
  };
  std::vector<BufferId> known{buffer(true)};
  for (int t = 0; t < tasks; ++t) {
    Task task{.name = "t" + std::to_string(t)};
    std::set<BufferId> reads;
    for (int k = 0; k < 1 + rng.below(3); ++k)
      reads.insert(known[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(known.size())))]);
    task.reads.assign(reads.begin(), reads.end());
    task.workspace = rng.below(3) == 0 ? rng.below(40) : 0;
    if (rng.below(6) == 0) {
      task.writes = {task.reads.front()};  // a new version
      task.once = true;
    }
    for (int k = 0; k < 1 + rng.below(2); ++k) task.writes.push_back(buffer(false));
    if (rng.below(3) == 0) task.in_place.emplace_back(task.reads.back(), task.writes.back());
    for (const BufferId w : task.writes) known.push_back(w);
    p.tasks.push_back(task);
  }
  p.tasks.push_back(
      {.name = "another maker", .reads = {known[0]}, .writes = {known.back()}, .optional = true});
  for (const BufferId b : known)
    if (rng.below(6) == 0) p.outputs.push_back(b);
  return p;
}

// The rules written out once more, without the graph: who may run after `ran`, and what is live.
struct Rules {
  const Problem& p;
  bool in_place;

  bool may_run(const std::vector<char>& ran, std::size_t t) const {
    for (std::size_t other = 0; other < t; ++other) {
      if (ran[other] || p.tasks[other].optional) continue;
      const auto meets = [](const auto& a, const auto& b) {
        return std::any_of(a.begin(), a.end(),
                           [&](BufferId x) { return std::count(b.begin(), b.end(), x) > 0; });
      };
      if (meets(p.tasks[other].writes, p.tasks[t].reads) || meets(p.tasks[other].reads, p.tasks[t].writes) ||
          meets(p.tasks[other].writes, p.tasks[t].writes))
        return false;
    }
    return true;
  }
  static bool touches(const Task& t, BufferId b) {
    return std::count(t.reads.begin(), t.reads.end(), b) + std::count(t.writes.begin(), t.writes.end(), b) >
           0;
  }
  bool live(const std::vector<char>& ran, BufferId b) const {
    const Buffer& buffer = p.buffers[static_cast<std::size_t>(b)];
    if (buffer.resident || buffer.start >= 0) return true;
    bool made = false, wanted = buffer.end >= 0 || std::count(p.outputs.begin(), p.outputs.end(), b) > 0;
    for (std::size_t t = 0; t < p.tasks.size(); ++t) {
      if (p.tasks[t].optional || !touches(p.tasks[t], b)) continue;
      made = made || ran[t];
      wanted = wanted || !ran[t];
    }
    return made && wanted;
  }
  Bytes during(std::vector<char> ran, std::size_t t) const {
    const Task& task = p.tasks[t];
    std::vector<char> then = ran;
    then[t] = 1;
    Bytes sum = task.workspace;
    for (BufferId b = 0; b < static_cast<BufferId>(p.buffers.size()); ++b)
      if (live(ran, b) || touches(task, b)) sum += p.size(b);
    std::set<BufferId> used;
    if (!in_place) return sum;
    for (const auto& [r, w] : task.in_place) {
      if (p.buffers[static_cast<std::size_t>(r)].resident || live(then, r) || p.size(w) > p.size(r)) continue;
      if (live(ran, w) || std::count(task.writes.begin(), task.writes.end(), r) > 0) continue;
      if (used.insert(r).second && used.insert(w).second) sum -= p.size(w);
    }
    return sum;
  }
  Bytes best(std::vector<char>& ran, std::size_t left) const {
    if (left == 0) return 0;
    Bytes best_peak = std::numeric_limits<Bytes>::max();
    for (std::size_t t = 0; t < p.tasks.size(); ++t) {
      if (ran[t] || p.tasks[t].optional || !may_run(ran, t)) continue;
      const Bytes now = during(ran, t);
      if (now >= best_peak) continue;
      ran[t] = 1;
      best_peak = std::min(best_peak, std::max(now, best(ran, left - 1)));
      ran[t] = 0;
    }
    return best_peak;
  }
  Bytes peak(const std::vector<TaskId>& order) const {
    std::vector<char> ran(p.tasks.size(), 0);
    Bytes most = 0;
    for (const TaskId t : order) {
      EXPECT_TRUE(may_run(ran, static_cast<std::size_t>(t)));
      most = std::max(most, during(ran, static_cast<std::size_t>(t)));
      ran[static_cast<std::size_t>(t)] = 1;
    }
    return most;
  }
};

TEST(Order, ExactOnSmallProblems) {
  Rng rng(5);
  for (int round = 0; round < 300; ++round) {
    const int tasks = 1 + static_cast<int>(rng.below(8));
    const Problem p = random_problem(rng, tasks);
    const Rules rules{p, round % 2 == 0};
    std::vector<char> ran(p.tasks.size(), 0);
    const std::vector<TaskId> found = order(p, {.in_place = rules.in_place, .effort = 100000});
    ASSERT_EQ(found.size(), static_cast<std::size_t>(tasks));
    EXPECT_EQ(rules.peak(found), rules.best(ran, static_cast<std::size_t>(tasks))) << round;
    EXPECT_EQ(live_peak(p, found, rules.in_place), rules.peak(found)) << round;
  }
}

TEST(Order, NeverWorseAndTheSameTwice) {
  Rng rng(6);
  int better = 0;
  for (int round = 0; round < 12; ++round) {
    const int tasks = 30 + static_cast<int>(rng.below(200));
    const Problem p = random_problem(rng, tasks);
    std::vector<TaskId> list;
    for (TaskId t = 0; t < tasks; ++t) list.push_back(t);
    const OrderOptions options{.time_limit = 1e9, .effort = 20000};
    const std::vector<TaskId> found = order(p, options);
    const Bytes before = live_peak(p, list, true), after = live_peak(p, found, true);
    EXPECT_GE(after, 0);
    EXPECT_LE(after, before);
    better += after < before;
    EXPECT_EQ(found, order(p, options));
  }
  EXPECT_GE(better, 8);
}

TEST(Order, RefusesInvalidOrders) {
  Problem p;
  p.buffers = {{.name = "a", .bytes = 4}, {.name = "b", .bytes = 4}};
  p.tasks = {{.name = "x", .writes = {0}}, {.name = "y", .reads = {0}, .writes = {1}}};
  p.outputs = {1};
  EXPECT_EQ(live_peak(p, std::vector<TaskId>{0, 1}, true), 8);
  EXPECT_EQ(live_peak(p, std::vector<TaskId>{1, 0}, true), -1);
  EXPECT_EQ(live_peak(p, std::vector<TaskId>{0}, true), -1);
  EXPECT_EQ(live_peak(p, std::vector<TaskId>{0, 0}, true), -1);
  EXPECT_EQ(live_peak(p, std::vector<TaskId>{0, 7}, true), -1);
  EXPECT_TRUE(order(Problem{}).empty());
}

}  // namespace
}  // namespace tidemark::plan
