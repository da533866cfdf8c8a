// Maximum flow and minimum cut on small sparse networks with integer capacities; what the bounds on time rest
// on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tidemark/base/api.h"
#include "tidemark/plan/cpu_clock.h"

namespace tidemark::plan {

// Dinic's algorithm (1970). Solving again after capacities only grew starts from the flow that is there, so a
// sequence of rising prices costs little more than one solve.
class TIDEMARK_API MinCut {
 public:
  using Flow = std::int64_t;
  static constexpr Flow kUnlimited = Flow{1} << 60;
  static constexpr int kSource = 0, kSink = 1;

  explicit MinCut(int nodes = 2) : nodes_(nodes) {}
  int add_node() { return nodes_++; }
  // All edges before the first solve. Returns the edge's id: 0, 1, 2, …
  int add_edge(int from, int to, Flow capacity);
  void set_capacity(int edge, Flow capacity);

  // The value of a maximum flow; every path to the sink must have a limit below kUnlimited. With a limit on the work (arcs
  // looked at), or on the time a large network may take, it may end early: then complete() is false, the flow is feasible
  // but not maximal, and there is no cut.
  Flow solve();
  void limit_work(std::int64_t arcs, const Limit* limit = nullptr) {
    work_left_ = arcs;
    limit_ = limit;
  }
  // As much work again as was done so far, whatever the clock says: for what came to its end before.
  void allow_again() { limit_work(work_done_); }
  bool complete() const { return complete_; }

  // After solve: the smallest source side of a minimum cut, and the flow.
  bool source_side(int node) const { return level_[static_cast<std::size_t>(node)] >= 0; }
  Flow flow(int edge) const { return flow_[static_cast<std::size_t>(edge)]; }
  Flow capacity(int edge) const { return capacity_[static_cast<std::size_t>(edge)]; }

 private:
  struct Arc {
    int to;
    int edge;  // e: along edge e; ~e: against it
  };
  void index();
  bool layer();
  void block();
  Flow residual(int arc_edge) const {
    return arc_edge >= 0
               ? capacity_[static_cast<std::size_t>(arc_edge)] - flow_[static_cast<std::size_t>(arc_edge)]
               : flow_[static_cast<std::size_t>(~arc_edge)];
  }

  int nodes_;
  std::vector<int> from_, to_;
  std::vector<Flow> capacity_, flow_;
  std::vector<Arc> arcs_;  // by node, arcs_[first_[v]] .. arcs_[first_[v + 1]]
  std::vector<int> first_, level_, next_, queue_, path_;
  bool indexed_ = false, too_much_ = false, complete_ = true;
  std::int64_t work_left_ = std::int64_t{1} << 62, work_done_ = 0;
  const Limit* limit_ = nullptr;
  Flow value_ = 0;
};

}  // namespace tidemark::plan
