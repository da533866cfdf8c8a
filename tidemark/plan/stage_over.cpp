// Where the solution of a program of several moments would not fit. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <queue>

#include "tidemark/plan/stage_program.h"

namespace tidemark::plan {

namespace {

// Tasks in the list's order, but for those that an order puts behind others, and all that needs them.
std::vector<TaskId> first_order(const Values& values) {
  const TaskId n = values.tasks();
  const auto at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
  std::vector<std::int32_t> missing(at(n));
  std::vector<bool> there = values.given;
  std::priority_queue<TaskId, std::vector<TaskId>, std::greater<>> ready;
  const auto comes = [&](TaskId t) {
    if (--missing[at(t)] == 0) ready.push(t);
  };
  for (TaskId t = 0; t < n; ++t) {
    missing[at(t)] = 1 + static_cast<std::int32_t>(values.follows[t].size());
    for (BufferId v : values.reads[t]) missing[at(t)] += there[at(v)] ? 0 : 1;
    comes(t);
  }
  std::vector<TaskId> order;
  while (!ready.empty()) {
    const TaskId t = ready.top();
    ready.pop();
    order.push_back(t);
    for (const TaskId f : values.followers[t]) comes(f);
    for (BufferId v : values.makes[t]) {
      if (there[at(v)]) continue;
      there[at(v)] = true;
      for (TaskId r : values.readers[v]) comes(r);
    }
  }
  return order;
}

}  // namespace

std::vector<std::pair<Bytes, TaskId>> StageProgram::over() const {
  std::vector<std::pair<Bytes, TaskId>> all = over(OpenRuns::in_turn), out;
  for (const auto& each : over(OpenRuns::for_readers)) all.push_back(each);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<bool> seen(at(v_.tasks()));
  for (const auto& each : all) {
    if (!seen[at(each.second)]) out.push_back(each);
    seen[at(each.second)] = true;
  }
  return out;
}

// Each stage carried out as the solution has it: what surely first runs there in its turn, what is made again just before
// whoever reads it first, and what may be either as one or the other. A value is live from the start of the stage if it is stored, else from when it is made, to its last reader or the next moment.
std::vector<std::pair<Bytes, TaskId>> StageProgram::over(OpenRuns open) const {
  constexpr double kMostly = 0.5;  // runs there, by the solution
  const int k = columns_.moments();
  const auto solved = [&](int column) {
    return column >= 0 ? program_.solution()[at(column)] : column == StageColumns::kOne ? 1.0 : 0.0;
  };
  // What is too small to have a column is where it is needed.
  const auto stored = [&](int moment, BufferId v) {
    return facts_->stored_range(moment, v).first == 1 ? 1.0 : solved(columns_.stored(moment, v));
  };
  const std::vector<TaskId> order = first_order(v_);
  const auto n = static_cast<TaskId>(order.size());
  std::vector<std::pair<Bytes, TaskId>> out;
  std::vector<bool> is_output(at(v_.values()));
  for (BufferId v : v_.outputs) is_output[at(v)] = true;
  for (int i = 0; i <= k; ++i) {
    const auto next = [&](BufferId v) { return i < k ? stored(i + 1, v) : is_output[at(v)] ? 1.0 : 0.0; };
    std::vector<TaskId> place(at(v_.tasks()), n);
    std::vector<double> part(at(v_.tasks()));
    for (TaskId turn = n - 1; turn >= 0; --turn) {
      const TaskId t = order[at(turn)];
      const bool sure = columns_.ranges(i, i)[at(t)] == StageColumns::Range::one;
      part[at(t)] = sure ? 1 : solved(columns_.run(i, t));
      const bool in_turn =
          sure || (open == OpenRuns::in_turn && facts_->first_is_open(t) && part[at(t)] >= kMostly);
      if (in_turn) place[at(t)] = turn;
      if (in_turn || part[at(t)] <= 0) continue;
      for (BufferId v : v_.makes[t]) {
        for (TaskId r : v_.readers[v]) {
          if (part[at(r)] > 0) place[at(t)] = std::min(place[at(t)], place[at(r)]);
        }
      }
    }
    // Of each value, from place to place, how much of it is live before the place.
    std::vector<std::vector<std::pair<TaskId, double>>> live(at(v_.values()));
    std::vector<double> change(at(n) + 2);
    for (BufferId v = 0; v < v_.values(); ++v) {
      if (v_.size[at(v)] == 0) continue;
      std::vector<std::pair<TaskId, double>> uses;
      for (TaskId r : v_.readers[v]) {
        if (part[at(r)] > 0) uses.emplace_back(place[at(r)], part[at(r)]);
      }
      if (next(v) > 0) uses.emplace_back(n, next(v));
      if (uses.empty()) continue;
      std::sort(uses.begin(), uses.end());
      for (std::size_t u = uses.size() - 1; u > 0; --u)
        uses[u - 1].second = std::max(uses[u - 1].second, uses[u].second);
      TaskId begin = n;
      for (TaskId m : v_.makers[v]) {
        if (part[at(m)] > 0) begin = std::min(begin, place[at(m)]);
      }
      const double from_start = stored(i, v);
      TaskId last = 0;
      for (const auto& [use, needed] : uses) {
        const auto add = [&, until = use](TaskId from, double amount) {
          if (from >= until || amount <= 0) return;
          live[at(v)].emplace_back(from, amount);
          live[at(v)].emplace_back(until, -amount);
        };
        add(last, std::min(from_start, needed));
        add(std::max(last, begin), needed - std::min(from_start, needed));
        last = std::max(last, use);
      }
      for (const auto& [at_place, amount] : live[at(v)])
        change[at(at_place)] += amount * static_cast<double>(v_.size[at(v)]);
    }
    double total = 0;
    for (TaskId turn = 0; turn < n; ++turn) {
      const TaskId t = order[at(turn)];
      total += change[at(turn)];
      if (place[at(t)] != turn || part[at(t)] < (open == OpenRuns::in_turn ? kMostly : 1) ||
          !v_.sole[at(t)] || (i > 0 && t == facts_->facts()[at(i - 1)].task))
        continue;
      std::vector<BufferId> fresh;
      auto own = static_cast<double>(held_in_run(v_, t, fresh) - v_.resident_bytes);
      for (BufferId v : v_.reads[t]) own += static_cast<double>(v_.size[at(v)]);
      double bytes = total + own + static_cast<double>(v_.resident_bytes - o_.budget);
      for (const auto& lists : {v_.reads[t], v_.makes[t]}) {
        for (BufferId v : lists) {
          for (const auto& [from, amount] : live[at(v)]) {
            if (from <= turn) bytes -= amount * static_cast<double>(v_.size[at(v)]);
          }
        }
      }
      if (bytes > 0) out.emplace_back(static_cast<Bytes>(std::min(own, bytes)), t);
    }
  }
  return out;
}

}  // namespace tidemark::plan
