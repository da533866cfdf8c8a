// The order of least peak where every made buffer has at most one reader: then making anything twice does not help, and the best
// order comes from combining the hills and valleys of the subtrees. Liu, "An application of generalized tree pebbling to
// sparse matrix factorization", SIAM J. Algebraic Discrete Methods 8 (1987).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/plan/planners/outline.h"

namespace tidemark::plan::named {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// A stretch of a traversal: it climbs to `hill` and ends at `valley`, both counted from an empty memory in which only
// this subtree is processed. Tasks are a linked list.
struct Stretch {
  Bytes hill = 0, valley = 0;
  std::int32_t first = -1, last = -1;
};

class Trees {
 public:
  explicit Trees(const Outline& o)
      : o_(o), p_(*o.problem), next_(p_.tasks.size(), -1), stretches_(p_.tasks.size()) {
    std::vector<TaskId> reader(p_.buffers.size(), -1);
    for (const TaskId t : o.order) {
      const Task& task = p_.tasks[at(t)];
      if (!o.repeatable[at(t)] && !task.once)
        refuse(fmt::format("task '{}' touches a buffer that is updated", task.name));
      int made = 0;
      for (const BufferId b : task.writes) {
        if (p_.buffers[at(b)].resident) continue;
        ++made;
        if (o.maker[at(b)] != t)
          refuse(fmt::format("buffer '{}' is made by two tasks", p_.buffers[at(b)].name));
      }
      if (made != 1) refuse(fmt::format("task '{}' makes {} buffers", task.name, made));
      for (const BufferId b : task.reads) {
        if (p_.buffers[at(b)].resident) continue;
        if (o.maker[at(b)] < 0) refuse(fmt::format("buffer '{}' starts in a tier", p_.buffers[at(b)].name));
        if (reader[at(b)] >= 0 && reader[at(b)] != t)
          refuse(fmt::format("buffer '{}' is read by '{}' and '{}'", p_.buffers[at(b)].name,
                             p_.tasks[at(reader[at(b)])].name, task.name));
        reader[at(b)] = t;
      }
    }
    for (const BufferId b : p_.outputs)
      if (reader[at(b)] >= 0) refuse(fmt::format("output '{}' is read as well", p_.buffers[at(b)].name));
    reader_ = std::move(reader);
  }

  std::vector<Step> order() {
    std::vector<TaskId> roots;
    for (const TaskId t : o_.order) {
      std::vector<TaskId> children;
      Bytes reads = 0;
      for (const BufferId b : p_.tasks[at(t)].reads) {
        if (p_.buffers[at(b)].resident ||
            std::find(children.begin(), children.end(), o_.maker[at(b)]) != children.end())
          continue;
        children.push_back(o_.maker[at(b)]);
        reads += p_.size(b);
      }
      auto merged = merge(children);
      const Bytes own = o_.made_bytes(t);
      const bool kept = stays(t);
      append(merged, {reads + own + round_up(p_.tasks[at(t)].workspace, p_.align), kept ? own : 0, t, t});
      stretches_[at(t)] = std::move(merged);
      if (is_root(t)) roots.push_back(t);
    }
    std::vector<Step> out;
    for (const Stretch& s : merge(roots))
      for (TaskId t = s.first;; t = next_[at(t)]) {
        out.push_back({Step::Kind::run, t, -1, {}});
        if (t == s.last) break;
      }
    return out;
  }

 private:
  [[noreturn]] static void refuse(const std::string& why) {
    fail(Error::Kind::unsupported, "[tree_dp] applies to trees; {}", why);
  }
  BufferId made_by(TaskId t) const {
    for (const BufferId b : p_.tasks[at(t)].writes)
      if (!p_.buffers[at(b)].resident) return b;
    return -1;
  }
  bool is_root(TaskId t) const { return reader_[at(made_by(t))] < 0; }
  // Nobody reads it and it is no output: gone at once.
  bool stays(TaskId t) const {
    return !is_root(t) || std::find(p_.outputs.begin(), p_.outputs.end(), made_by(t)) != p_.outputs.end();
  }

  // The stretches of all children, those that climb most above where they end first (Liu's Theorem 3.2), as one traversal.
  std::vector<Stretch> merge(const std::vector<TaskId>& children) {
    struct Part {
      Stretch stretch;
      Bytes start;  // where the child's stretch begins: its valley before
    };
    std::vector<Part> parts;
    for (const TaskId c : children) {
      Bytes start = 0;
      for (const Stretch& s : stretches_[at(c)]) parts.push_back({s, start}), start = s.valley;
      stretches_[at(c)].clear();
    }
    std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
      return a.stretch.hill - a.stretch.valley > b.stretch.hill - b.stretch.valley;
    });
    std::vector<Stretch> out;
    Bytes base = 0;  // what all children hold at the moment
    for (const Part& part : parts) {
      const Bytes hill = base - part.start + part.stretch.hill;
      base += part.stretch.valley - part.start;
      append(out, {hill, base, part.stretch.first, part.stretch.last});
    }
    return out;
  }

  // Hills fall and valleys rise along a list; stretches that do not are joined.
  void append(std::vector<Stretch>& list, Stretch s) {
    while (!list.empty() && (list.back().hill <= s.hill || list.back().valley >= s.valley)) {
      const Stretch& before = list.back();
      next_[at(before.last)] = s.first;
      s = {std::max(before.hill, s.hill), s.valley, before.first, s.last};
      list.pop_back();
    }
    list.push_back(s);
  }

  const Outline& o_;
  const Problem& p_;
  std::vector<std::int32_t> next_;
  std::vector<std::vector<Stretch>> stretches_;
  std::vector<TaskId> reader_;
};

}  // namespace

Plan tree_dp(const Problem& problem, const Options& options) {
  const Outline o(problem);
  return finish(problem, Trees(o).order(), options);
}

}  // namespace tidemark::plan::named
