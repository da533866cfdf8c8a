// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/order_graph.h"

#include <algorithm>

namespace tidemark::plan::ordering {

OrderGraph make_order_graph(const Problem& problem, bool in_place) {
  OrderGraph g;
  const std::size_t buffers = problem.buffers.size();
  std::vector<Index> buffer_of(buffers, -1);
  for (std::size_t b = 0; b < buffers; ++b) {
    const Buffer& buffer = problem.buffers[b];
    if (buffer.resident || buffer.start >= 0) {
      g.always += problem.size(static_cast<BufferId>(b));
      continue;
    }
    buffer_of[b] = static_cast<Index>(g.buffers.size());
    g.buffers.push_back({problem.size(static_cast<BufferId>(b)), buffer.end >= 0, {}});
  }
  for (const BufferId b : problem.outputs)
    if (const Index k = buffer_of[static_cast<std::size_t>(b)]; k >= 0)
      g.buffers[static_cast<std::size_t>(k)].kept = true;

  // Per problem buffer: who wrote it last, and who has read it since.
  std::vector<Index> writer(buffers, -1);
  std::vector<std::vector<Index>> readers(buffers);
  for (std::size_t id = 0; id < problem.tasks.size(); ++id) {
    const Task& task = problem.tasks[id];
    if (task.optional) continue;
    const auto t = static_cast<Index>(g.tasks.size());
    g.ids.push_back(static_cast<TaskId>(id));
    OrderTask& o = g.tasks.emplace_back();
    o.workspace = task.workspace;
    for (const BufferId b : task.reads)
      if (const Index w = writer[static_cast<std::size_t>(b)]; w >= 0) o.before.push_back(w);
    for (const BufferId b : task.writes) {
      if (const Index w = writer[static_cast<std::size_t>(b)]; w >= 0) o.before.push_back(w);
      o.before.insert(o.before.end(), readers[static_cast<std::size_t>(b)].begin(),
                      readers[static_cast<std::size_t>(b)].end());
    }
    for (const BufferId b : task.reads) readers[static_cast<std::size_t>(b)].push_back(t);
    for (const BufferId b : task.writes) {
      writer[static_cast<std::size_t>(b)] = t;
      readers[static_cast<std::size_t>(b)].clear();
    }
    for (const auto* list : {&task.reads, &task.writes})
      for (const BufferId b : *list)
        if (const Index k = buffer_of[static_cast<std::size_t>(b)]; k >= 0) o.touches.push_back(k);
    for (auto* list : {&o.before, &o.touches}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    std::erase(o.before, t);
    for (const Index p : o.before) g.tasks[static_cast<std::size_t>(p)].after.push_back(t);
    for (const Index b : o.touches) {
      OrderBuffer& buffer = g.buffers[static_cast<std::size_t>(b)];
      if (buffer.touched_by.empty()) o.births.push_back(b);
      buffer.touched_by.push_back(t);
    }
    if (!in_place) continue;
    for (const auto& [read, write] : task.in_place) {
      const Index r = buffer_of[static_cast<std::size_t>(read)],
                  w = buffer_of[static_cast<std::size_t>(write)];
      if (r < 0 || w < 0 || g.buffers[static_cast<std::size_t>(r)].kept) continue;
      if (g.buffers[static_cast<std::size_t>(w)].bytes > g.buffers[static_cast<std::size_t>(r)].bytes)
        continue;
      if (std::find(o.births.begin(), o.births.end(), w) == o.births.end()) continue;
      const bool used = std::any_of(o.in_place.begin(), o.in_place.end(),
                                    [&](const auto& p) { return p.first == r || p.second == w; });
      // Read through another argument as well: the pair does not cover it.
      if (used || std::count(task.reads.begin(), task.reads.end(), read) > 1) continue;
      o.in_place.emplace_back(r, w);
    }
  }
  return g;
}

Replayer::Replayer(const OrderGraph& graph) : graph_(&graph), live_(graph.always), peak_(graph.always) {
  for (const OrderTask& t : graph.tasks) waits_.push_back(static_cast<std::int32_t>(t.before.size()));
  for (const OrderBuffer& b : graph.buffers)
    touches_.push_back(static_cast<std::int32_t>(b.touched_by.size()));
}

Replayer::Effect Replayer::effect(Index t) const {
  const OrderTask& task = graph_->tasks[static_cast<std::size_t>(t)];
  Effect e{live_ + task.workspace, live_};
  for (const Index b : task.births) {
    e.during += graph_->buffers[static_cast<std::size_t>(b)].bytes;
    e.after += graph_->buffers[static_cast<std::size_t>(b)].bytes;
  }
  for (const Index b : task.touches)
    if (touches_[static_cast<std::size_t>(b)] == 1 && !graph_->buffers[static_cast<std::size_t>(b)].kept)
      e.after -= graph_->buffers[static_cast<std::size_t>(b)].bytes;
  for (const auto& [r, w] : task.in_place)
    if (touches_[static_cast<std::size_t>(r)] == 1)
      e.during -= graph_->buffers[static_cast<std::size_t>(w)].bytes;
  return e;
}

}  // namespace tidemark::plan::ordering
