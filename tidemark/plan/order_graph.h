// What ordering works on: the tasks that are not optional, who waits for whom, and which buffers each one
// brings to life or ends. Internal to order. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tidemark/plan/problem.h"

namespace tidemark::plan::ordering {

using Index =
    std::int32_t;  // of a task in list order without the optional ones, or of a buffer that comes and goes

struct OrderTask {
  std::vector<Index> before, after;  // direct dependences
  std::vector<Index> touches;        // buffers read or written, each once
  std::vector<Index> births;         // those that it writes first
  std::vector<std::pair<Index, Index>> in_place;
  Bytes workspace = 0;
};

struct OrderBuffer {
  Bytes bytes = 0;
  bool kept = false;              // live to the end
  std::vector<Index> touched_by;  // in list order
};

struct OrderGraph {
  std::vector<TaskId> ids;
  std::vector<OrderTask> tasks;
  std::vector<OrderBuffer> buffers;
  Bytes always = 0;  // live all along
};

OrderGraph make_order_graph(const Problem& problem, bool in_place);

// Running tasks one by one.
class Replayer {
 public:
  explicit Replayer(const OrderGraph& graph);
  bool ready(Index t) const { return waits_[static_cast<std::size_t>(t)] == 0; }
  // Live bytes during t if it ran now, and after it.
  struct Effect {
    Bytes during = 0, after = 0;
  };
  Effect effect(Index t) const;
  // Calls `now_ready` for each task that waits for nothing more.
  template <typename F>
  void run(Index t, F&& now_ready) {
    const Effect e = effect(t);
    peak_ = e.during > peak_ ? e.during : peak_;
    live_ = e.after;
    for (const Index b : graph_->tasks[static_cast<std::size_t>(t)].touches)
      --touches_[static_cast<std::size_t>(b)];
    waits_[static_cast<std::size_t>(t)] = -1;
    for (const Index a : graph_->tasks[static_cast<std::size_t>(t)].after)
      if (--waits_[static_cast<std::size_t>(a)] == 0) now_ready(a);
  }
  Bytes live() const { return live_; }
  Bytes peak() const { return peak_; }

 private:
  const OrderGraph* graph_;
  std::vector<std::int32_t> waits_;    // dependences left; -1: has run
  std::vector<std::int32_t> touches_;  // per buffer: tasks left that touch it
  Bytes live_ = 0, peak_ = 0;
};

// The order of these tasks (at most 64, a stretch of an order) with the least peak, if that is below `peak`;
// else empty. `live` bytes are live before them; what runs after them has a position of `end` or more. Exact
// unless it has visited `states` states, which counts down.
std::vector<Index> order_window(const OrderGraph& graph, std::span<const Index> window, Bytes live,
                                std::span<const Index> position, Index end, Bytes peak, std::int64_t& states);

// Beam search over all tasks with `width` states side by side; empty when `states` ran out.
std::vector<Index> order_beam(const OrderGraph& graph, std::size_t width, std::int64_t& states);

// The list order, but what frees no less than it takes, and stays within `peak`, runs as soon as it can.
// Linear time.
std::vector<Index> order_eager(const OrderGraph& graph, Bytes peak);

}  // namespace tidemark::plan::ordering
