// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/order_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tidemark::plan::ordering {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// A stretch of a traversal: it climbs to `hill` and ends at `valley`, both counted from an empty memory in which only
// this subtree is processed. Tasks are a linked list.
struct Stretch {
  Bytes hill = 0, valley = 0;
  TaskId first = -1, last = -1;
};

class Trees {
 public:
  explicit Trees(const Problem& p)
      : p_(p),
        maker_(p.buffers.size(), -1),
        reader_(p.buffers.size(), -1),
        is_output_(p.buffers.size(), 0),
        next_(p.tasks.size(), -1),
        stretches_(p.tasks.size()) {
    for (const BufferId b : p_.outputs) is_output_[at(b)] = 1;
  }

  // What keeps it from being trees, or "".
  std::string against() {
    for (std::size_t i = 0; i < p_.tasks.size(); ++i) {
      if (p_.tasks[i].optional) continue;
      std::string why = make(static_cast<TaskId>(i));
      if (why.empty()) why = read(static_cast<TaskId>(i));
      if (!why.empty()) return why;
    }
    for (const BufferId b : p_.outputs)
      if (reader_[at(b)] >= 0) return fmt::format("output '{}' is read as well", p_.buffers[at(b)].name);
    return "";
  }

  std::vector<TaskId> order() {
    std::vector<TaskId> roots, child_of(p_.tasks.size(), -1);
    for (std::size_t i = 0; i < p_.tasks.size(); ++i) {
      if (p_.tasks[i].optional) continue;
      const auto t = static_cast<TaskId>(i);
      std::vector<TaskId> children;
      Bytes reads = 0;
      for (const BufferId b : p_.tasks[i].reads) {
        if (p_.buffers[at(b)].resident || std::exchange(child_of[at(maker_[at(b)])], t) == t) continue;
        children.push_back(maker_[at(b)]);
        reads += p_.size(b);
      }
      auto merged = merge(children);
      const Bytes own = p_.size(made_by(t));
      const bool root = reader_[at(made_by(t))] < 0;
      // What nobody reads and nobody waits for at the end is gone at once.
      const bool stays = !root || is_output_[at(made_by(t))] || p_.buffers[at(made_by(t))].end >= 0;
      append(merged, {reads + own + round_up(p_.tasks[i].workspace, p_.align), stays ? own : 0, t, t});
      stretches_[i] = std::move(merged);
      if (root) roots.push_back(t);
    }
    std::vector<TaskId> out;
    for (const Stretch& s : merge(roots)) {
      for (TaskId t = s.first;; t = next_[at(t)]) {
        out.push_back(t);
        if (t == s.last) break;
      }
    }
    return out;
  }

 private:
  std::string make(TaskId t) {
    const Task& task = p_.tasks[at(t)];
    if (updates(task)) return fmt::format("task '{}' touches a buffer that is updated", task.name);
    int made = 0;
    for (const BufferId b : task.writes) {
      if (p_.buffers[at(b)].resident) continue;
      ++made;
      if (maker_[at(b)] >= 0) return fmt::format("buffer '{}' is made by two tasks", p_.buffers[at(b)].name);
      maker_[at(b)] = t;
    }
    return made == 1 ? "" : fmt::format("task '{}' makes {} buffers", task.name, made);
  }

  std::string read(TaskId t) {
    const Task& task = p_.tasks[at(t)];
    for (const BufferId b : task.reads) {
      if (p_.buffers[at(b)].resident) continue;
      if (maker_[at(b)] < 0) return fmt::format("buffer '{}' starts in a tier", p_.buffers[at(b)].name);
      if (reader_[at(b)] >= 0 && reader_[at(b)] != t)
        return fmt::format("buffer '{}' is read by '{}' and '{}'", p_.buffers[at(b)].name,
                           p_.tasks[at(reader_[at(b)])].name, task.name);
      reader_[at(b)] = t;
    }
    return "";
  }

  BufferId made_by(TaskId t) const {
    const auto& writes = p_.tasks[at(t)].writes;
    return *std::find_if(writes.begin(), writes.end(),
                         [&](BufferId b) { return !p_.buffers[at(b)].resident; });
  }

  // The stretches of all children, those that climb most above where they end first (Liu's Theorem 3.2), as one traversal.
  std::vector<Stretch> merge(const std::vector<TaskId>& children) {
    if (children.size() == 1) return std::move(stretches_[at(children[0])]);
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

  const Problem& p_;
  std::vector<TaskId> maker_, reader_;  // by buffer
  std::vector<char> is_output_;
  std::vector<TaskId> next_;
  std::vector<std::vector<Stretch>> stretches_;
};

}  // namespace

TreeOrder tree_order(const Problem& problem) {
  Trees trees(problem);
  std::string against = trees.against();
  if (!against.empty()) return {{}, std::move(against)};
  return {trees.order(), ""};
}

}  // namespace tidemark::plan::ordering
