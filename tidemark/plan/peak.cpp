// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/peak.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/plan/cut.h"

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// Whether a task reads a buffer, or may write it into the storage of something read, for one task after the other; a task may have as many
// buffers as there are.
class Reads {
 public:
  explicit Reads(const Problem& p) : p_(p), by_(p.buffers.size(), nullptr), over_(by_) {}
  void of(const Task& task) {
    task_ = &task;
    for (const BufferId b : task.reads) by_[at(b)] = &task;
    for (const auto& [r, w] : task.in_place)
      if (!p_.buffers[at(r)].resident && p_.size(r) >= p_.size(w)) over_[at(w)] = &task;
  }
  bool has(BufferId b) const { return by_[at(b)] == task_; }
  bool may_take_over(BufferId w) const { return over_[at(w)] == task_; }

 private:
  const Problem& p_;
  std::vector<const Task*> by_, over_;  // by buffer: the last task that does
  const Task* task_ = nullptr;
};

// Nothing appears after the last run but by a copy: without tiers, all outputs are live in the last run,
// whichever it is. Where no task is required there may be none.
Bytes at_the_end(const Values& values) {
  const Problem& p = values.problem;
  std::vector<bool> output(p.buffers.size());
  Bytes outputs = 0;
  for (ValueId v : values.outputs) {
    const BufferId b = values.buffer[at(v)];
    if (!output[at(b)]) outputs += values.size[at(v)];
    output[at(b)] = true;
  }
  Bytes least = -1;
  Reads reads(p);
  for (TaskId t = 0; t < values.tasks(); ++t) {
    const Task& task = p.tasks[at(t)];
    reads.of(task);
    Bytes live = outputs + round_up(task.workspace, p.align);
    for (ValueId v : values.reads[t]) live += output[at(values.buffer[at(v)])] ? 0 : values.size[at(v)];
    for (ValueId v : values.writes[t]) {
      const BufferId b = values.buffer[at(v)];
      const bool free = values.resident[at(v)] || reads.has(b);
      const bool shares = reads.may_take_over(b);
      if (!free && output[at(b)] && shares) live -= values.size[at(v)];
      if (!free && !output[at(b)] && !shares) live += values.size[at(v)];
    }
    if (least < 0 || live < least) least = live;
  }
  return values.resident_bytes + std::max<Bytes>(least, 0);
}

}  // namespace

PeakBound peak_bound(const Values& values, int effort, TaskId also) {
  const Problem& p = values.problem;
  PeakBound best;
  const bool runs = std::any_of(p.tasks.begin(), p.tasks.end(), [](const Task& t) { return !t.optional; });
  best.bytes = p.tiers.empty() && runs ? at_the_end(values) : values.resident_bytes;
  std::vector<std::pair<Bytes, TaskId>> order;
  bool once = false;
  Reads reads(p);
  for (TaskId t = 0; t < values.tasks(); ++t) {
    const Task& task = p.tasks[at(t)];
    once = once || task.once;
    if (!values.sole[at(t)]) continue;
    reads.of(task);
    Bytes live = values.resident_bytes + round_up(task.workspace, p.align);
    for (ValueId v : values.reads[t]) live += values.size[at(v)];
    for (ValueId w : values.writes[t]) {
      const BufferId b = values.buffer[at(w)];
      if (!reads.has(b) && !reads.may_take_over(b)) live += values.size[at(w)];
    }
    order.emplace_back(-live, t);
  }
  std::sort(order.begin(), order.end());
  if (!order.empty() && -order[0].first > best.bytes) {
    best.bytes = -order[0].first;
    best.moment = order[0].second;
  }
  const auto first =
      std::find_if(order.begin(), order.end(), [&](const auto& o) { return o.second == also; });
  if (first != order.end()) std::rotate(order.begin(), first, first + 1);
  // Only what runs once can make a value impossible to make again.
  if (once && p.tiers.empty()) {
    for (std::size_t i = 0; i < order.size() && i < static_cast<std::size_t>(effort); ++i) {
      CutModel model(values, order[i].second);
      Certificate::Leaf leaf;
      const Cut cut = model.least_stored(&leaf);
      if (cut.bytes <= best.bytes) continue;
      best.bytes = cut.bytes;
      best.moment = order[i].second;
      best.kept = cut.stored;
      best.leaf = std::move(leaf);
    }
  }
  if (best.moment >= 0) {
    reads.of(p.tasks[at(best.moment)]);
    for (ValueId v : values.reads[best.moment]) best.reads.push_back(v);
    for (ValueId w : values.writes[best.moment]) {
      const BufferId b = values.buffer[at(w)];
      if (!reads.has(b) && !reads.may_take_over(b)) best.writes.push_back(w);
    }
  }
  return best;
}

std::string explain(const Values& values, const PeakBound& peak) {
  const Problem& p = values.problem;
  const auto list = [&](const char* what, const std::vector<ValueId>& items) {
    std::string text;
    int more = 0;
    for (ValueId v : items) {
      if (values.size[at(v)] == 0) continue;
      if (text.size() > 120) {
        ++more;
        continue;
      }
      text += fmt::format("{} '{}' ({})", text.empty() ? fmt::format("; {}", what) : std::string(","),
                          p.buffers[at(values.buffer[at(v)])].name, format_bytes(values.size[at(v)]));
    }
    return more > 0 ? fmt::format("{} and {} more", text, more) : text;
  };
  if (peak.moment < 0) {
    const std::size_t n = values.outputs.size();
    const std::string outputs = n == 0   ? std::string()
                                : n == 1 ? std::string(": the output among them")
                                         : fmt::format(": all {} outputs among them", n);
    return fmt::format(
        "in its last run, whichever task it is, every plan has at least {} live, {} of them resident{}",
        format_bytes(peak.bytes), format_bytes(values.resident_bytes), outputs);
  }
  const Task& t = p.tasks[at(peak.moment)];
  std::string text =
      fmt::format("when task {} '{}' first runs, at least {} are live: {} resident", peak.moment, t.name,
                  format_bytes(peak.bytes), format_bytes(values.resident_bytes));
  if (t.workspace > 0) text += fmt::format("; workspace {}", format_bytes(round_up(t.workspace, p.align)));
  return text + list("reads", peak.reads) + list("writes", peak.writes) +
         list("needed later and not to be made again", peak.kept);
}

}  // namespace tidemark::plan
