// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/peak.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/plan/cut.h"

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

PeakBound peak_bound(const Values& values, int effort, TaskId also) {
  const Problem& p = values.problem;
  PeakBound best;
  // At the end all outputs are live, whatever the plan.
  best.bytes = values.resident_bytes;
  for (const BufferId b : values.outputs) best.bytes += values.size[at(b)];
  std::vector<std::pair<Bytes, TaskId>> order;
  std::vector<BufferId> fresh;
  bool once = false;
  for (TaskId t = 0; t < values.tasks(); ++t) {
    once = once || p.tasks[at(t)].once;
    if (!values.sole[at(t)]) continue;
    Bytes live = held_in_run(values, t, fresh);
    for (const BufferId b : values.reads[t]) live += values.size[at(b)];
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
    best.reads.assign(values.reads[best.moment].begin(), values.reads[best.moment].end());
    held_in_run(values, best.moment, best.writes);
  }
  return best;
}

std::string explain(const Values& values, const PeakBound& peak, Bytes budget) {
  const Problem& p = values.problem;
  const auto list = [&](const char* what, const std::vector<BufferId>& items) {
    std::string text;
    int more = 0;
    for (BufferId v : items) {
      if (values.size[at(v)] == 0) continue;
      if (text.size() > 120) {
        ++more;
        continue;
      }
      text += fmt::format("{} '{}' ({})", text.empty() ? fmt::format("; {}", what) : std::string(","),
                          p.buffers[at(v)].name, format_bytes(values.size[at(v)]));
    }
    return more > 0 ? fmt::format("{} and {} more", text, more) : text;
  };
  if (peak.moment < 0) {
    return fmt::format("at the end every plan has {} live: {} resident{}", format_bytes(peak.bytes, budget),
                       format_bytes(values.resident_bytes), list("outputs", values.outputs));
  }
  const Task& t = p.tasks[at(peak.moment)];
  std::string text =
      fmt::format("when task {} '{}' first runs, at least {} are live: {} resident", peak.moment, t.name,
                  format_bytes(peak.bytes, budget), format_bytes(values.resident_bytes));
  if (t.workspace > 0) text += fmt::format("; workspace {}", format_bytes(round_up(t.workspace, p.align)));
  return text + list("reads", peak.reads) + list("writes", peak.writes) +
         list("needed later and not to be made again", peak.kept);
}

}  // namespace tidemark::plan
