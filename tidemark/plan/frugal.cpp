// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/frugal.h"

#include <algorithm>
#include <limits>

#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/planners/outline.h"

namespace tidemark::plan {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kDepth = 48;      // tasks that an estimate looks at
constexpr double kSecondsATask = 6e-8;  // of each run
constexpr double kSoon = 1000;  // how much rather than others to keep what a run under way will read
constexpr std::int32_t kAtTheEnd = std::numeric_limits<std::int32_t>::max();

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

class Frugal {
 public:
  Frugal(const named::Outline& outline, const std::vector<TaskId>& order, Bytes budget, std::size_t most_runs)
      : p_(*outline.problem),
        order_(order),
        budget_(budget),
        most_runs_(most_runs),
        maker_(outline.maker),
        tied_(p_.buffers.size(), 0),
        live_(p_.buffers.size(), 0),
        pins_(p_.buffers.size(), 0),
        wanted_(p_.buffers.size(), 0),
        uses_(p_.buffers.size()),
        seen_(p_.tasks.size(), 0) {
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      if (!p_.buffers[b].resident) continue;
      live_[b] = 1;
      used_ += p_.size(static_cast<BufferId>(b));
    }
    for (const BufferId b : p_.outputs) uses_[at(b)].push_back(kAtTheEnd);
    for (std::size_t i = order.size(); i-- > 0;) {
      for (const BufferId b : p_.tasks[at(order[i])].reads)
        uses_[at(b)].push_back(static_cast<std::int32_t>(i));
    }
    for (std::size_t b = 0; b < p_.buffers.size(); ++b)
      tied_[b] = maker_[b] < 0 || outline.repeatable[at(maker_[b])] == 0 ? 1 : 0;
  }

  std::vector<TaskId> run(const std::function<bool()>& go_on) {
    go_on_ = &go_on;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      now_ = static_cast<std::int32_t>(i);
      if (!call(order_[i])) return {};
      for (const auto* list : {&p_.tasks[at(order_[i])].reads, &p_.tasks[at(order_[i])].writes}) {
        for (const BufferId b : *list) {
          while (!uses_[at(b)].empty() && uses_[at(b)].back() <= now_) uses_[at(b)].pop_back();
          if (uses_[at(b)].empty() && live_[at(b)] && !tied_[at(b)] && !p_.buffers[at(b)].resident)
            give_up(b);
        }
      }
      if (i % 64 == 0 && !go_on()) return {};
    }
    now_ = static_cast<std::int32_t>(order_.size());
    for (const BufferId b : p_.outputs) {
      if (!live_[at(b)] && !call(maker_[at(b)])) return {};
      ++pins_[at(b)];
    }
    return std::move(runs_);
  }

 private:
  struct Call {
    TaskId task;
    std::vector<BufferId> reads;  // in the order in which they are made sure of
    std::size_t next = 0;
  };

  bool call(TaskId task) {
    std::vector<Call> stack;
    stack.push_back(call_of(task));
    while (!stack.empty()) {
      Call& top = stack.back();
      while (top.next < top.reads.size() && live_[at(top.reads[top.next])])
        ++pins_[at(top.reads[top.next++])];
      if (top.next < top.reads.size()) {
        const TaskId maker = maker_[at(top.reads[top.next])];
        if (maker < 0 || stack.size() > p_.tasks.size()) return false;
        stack.push_back(call_of(maker));
        continue;
      }
      if (!perform(top.task) || runs_.size() > most_runs_) return false;
      stack.pop_back();
      worked(static_cast<double>(p_.tasks.size()), kSecondsATask);
      if (runs_.size() % 64 == 0 && !(*go_on_)()) return false;
    }
    return true;
  }

  // What takes the most bytes to make goes first, while nothing else has to stay (Sethi & Ullman 1970).
  Call call_of(TaskId task) {
    std::vector<std::pair<Bytes, BufferId>> reads;
    for (const BufferId b : p_.tasks[at(task)].reads)
      reads.emplace_back(live_[at(b)] ? 0 : -effort(b).second - 1, b);
    std::stable_sort(reads.begin(), reads.end(),
                     [](const auto& x, const auto& y) { return x.first < y.first; });
    Call call{task, {}, 0};
    for (const auto& [need, b] : reads) {
      call.reads.push_back(b);
      ++wanted_[at(b)];
    }
    return call;
  }

  // Seconds to make it again with what is missing for that, and the most bytes that one of those runs takes.
  std::pair<double, Bytes> effort(BufferId b) {
    double seconds = 0;
    Bytes most = 0;
    todo_.assign(1, maker_[at(b)]);
    ++stamp_;
    for (int k = 0; !todo_.empty(); ++k) {
      const TaskId t = todo_.back();
      todo_.pop_back();
      if (k >= kDepth) return {kInfinity, most};
      const Task& task = p_.tasks[at(t)];
      seconds += task.seconds;
      Bytes bytes = task.workspace;
      for (const BufferId w : task.writes) bytes += p_.size(w);
      for (const BufferId r : task.reads) {
        bytes += p_.buffers[at(r)].resident ? 0 : p_.size(r);
        const TaskId maker = maker_[at(r)];
        if (live_[at(r)] || maker < 0 || seen_[at(maker)] == stamp_) continue;
        seen_[at(maker)] = stamp_;
        todo_.push_back(maker);
      }
      most = std::max(most, bytes);
    }
    return {seconds, most};
  }

  void give_up(BufferId b) {
    live_[at(b)] = 0;
    used_ -= p_.size(b);
    std::erase(list_, b);
  }

  bool make_room(Bytes need) {
    while (used_ + need > budget_) {
      double best = kInfinity;
      BufferId chosen = -1;
      for (const BufferId b : list_) {
        if (pins_[at(b)] > 0 || tied_[at(b)] || p_.size(b) == 0) continue;
        const bool wanted = wanted_[at(b)] > 0;
        double score = -1;  // of no use any more
        if (wanted || !uses_[at(b)].empty()) {
          const std::int32_t use =
              wanted ? now_ : std::min(uses_[at(b)].back(), static_cast<std::int32_t>(order_.size()));
          score = (std::min(effort(b).first, 1e30) + 1e-12) /
                  (static_cast<double>(p_.size(b)) * (1.0 + use - now_));
          if (wanted) score *= kSoon;
        }
        if (chosen < 0 || score < best) {
          best = score;
          chosen = b;
        }
      }
      if (chosen < 0) return false;
      give_up(chosen);
    }
    return true;
  }

  bool perform(TaskId t) {
    const Task& task = p_.tasks[at(t)];
    Bytes need = round_up(task.workspace, p_.align);
    for (const BufferId b : task.writes) {
      ++pins_[at(b)];
      if (!live_[at(b)]) need += p_.size(b);
    }
    // What the run reads for the last time may give its place to what it writes.
    Bytes shared = 0;
    for (const auto& [from, into] : task.in_place) {
      const bool last = !p_.buffers[at(from)].resident && !tied_[at(from)] && !live_[at(into)] &&
                        pins_[at(from)] == 1 && p_.size(into) <= p_.size(from) && shared == 0;
      if (last && (uses_[at(from)].empty() || uses_[at(from)].back() <= now_)) shared = p_.size(into);
    }
    if (!make_room(need - shared)) return false;
    for (const BufferId b : task.writes) {
      --pins_[at(b)];
      if (live_[at(b)]) continue;
      live_[at(b)] = 1;
      used_ += p_.size(b);
      if (!p_.buffers[at(b)].resident) list_.push_back(b);
    }
    for (const BufferId b : task.reads) {
      --pins_[at(b)];
      --wanted_[at(b)];
    }
    runs_.push_back(t);
    return true;
  }

  const Problem& p_;
  const std::vector<TaskId>& order_;
  Bytes budget_, used_ = 0;
  const std::function<bool()>* go_on_ = nullptr;
  std::size_t most_runs_;
  std::int32_t now_ = 0;
  std::vector<TaskId> maker_;  // by buffer
  std::vector<char> tied_;     // by buffer: never given up, since it cannot be made again
  std::vector<char> live_;
  std::vector<std::int32_t> pins_, wanted_;  // by buffer: runs under way that read it and hold it, or will
  std::vector<std::vector<std::int32_t>> uses_;  // places in `order` that read it, the next one last
  std::vector<BufferId> list_;                   // live and not resident
  std::vector<std::int64_t> seen_;
  std::int64_t stamp_ = 0;
  std::vector<TaskId> todo_, runs_;
};

}  // namespace

std::vector<TaskId> frugal_runs(const Problem& problem, const std::vector<TaskId>& order, Bytes budget,
                                std::size_t most_runs, const std::function<bool()>& go_on) {
  return Frugal(named::Outline(problem), order, budget, most_runs).run(go_on);
}

}  // namespace tidemark::plan
