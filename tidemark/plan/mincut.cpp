// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/mincut.h"

#include <algorithm>
#include <limits>

#include "tidemark/plan/cpu_clock.h"

namespace tidemark::plan {

namespace {
constexpr double kSecondsAnArc = 1e-8;
constexpr int kLarge = 50'000;  // nodes: from one look at the clock to the next takes some milliseconds
std::size_t at(int i) { return static_cast<std::size_t>(i); }
}  // namespace

int MinCut::add_edge(int from, int to, Flow capacity) {
  from_.push_back(from);
  to_.push_back(to);
  capacity_.push_back(std::min(capacity, kUnlimited));
  flow_.push_back(0);
  indexed_ = false;
  return static_cast<int>(from_.size()) - 1;
}

void MinCut::set_capacity(int edge, Flow capacity) {
  capacity_[at(edge)] = std::min(capacity, kUnlimited);
  too_much_ |= flow_[at(edge)] > capacity_[at(edge)];
}

void MinCut::index() {
  first_.assign(at(nodes_) + 1, 0);
  for (std::size_t e = 0; e < from_.size(); ++e) {
    ++first_[at(from_[e]) + 1];
    ++first_[at(to_[e]) + 1];
  }
  for (int v = 0; v < nodes_; ++v) first_[at(v) + 1] += first_[at(v)];
  arcs_.resize(2 * from_.size());
  std::vector<int> fill(first_.begin(), first_.end() - 1);
  for (std::size_t e = 0; e < from_.size(); ++e) {
    const int id = static_cast<int>(e);
    arcs_[at(fill[at(from_[e])]++)] = {to_[e], id};
    arcs_[at(fill[at(to_[e])]++)] = {from_[e], ~id};
  }
  level_.assign(at(nodes_), -1);
  next_.resize(at(nodes_));
  queue_.resize(at(nodes_));
  indexed_ = true;
}

// Distances to the sink from the sink's side would not give the source side; so from the source.
bool MinCut::layer() {
  std::fill(level_.begin(), level_.end(), -1);
  level_[kSource] = 0;
  std::size_t head = 0, tail = 0;
  queue_[tail++] = kSource;
  bool reached = false;
  while (head < tail) {
    const int v = queue_[head++];
    work_left_ -= first_[at(v) + 1] - first_[at(v)];
    for (int a = first_[at(v)]; a < first_[at(v) + 1]; ++a) {
      const Arc& arc = arcs_[at(a)];
      if (level_[at(arc.to)] >= 0 || residual(arc.edge) == 0) continue;
      level_[at(arc.to)] = level_[at(v)] + 1;
      queue_[tail++] = arc.to;
      if (arc.to == kSink) reached = true;
    }
    if (reached && level_[at(v)] >= level_[kSink]) break;
  }
  return reached;
}

void MinCut::block() {
  std::copy(first_.begin(), first_.end() - 1, next_.begin());
  path_.clear();
  int v = kSource;
  while (true) {
    if (v == kSink) {
      work_left_ -= static_cast<std::int64_t>(path_.size());
      if (work_left_ < 0) return;
      Flow push = kUnlimited;
      for (int a : path_) push = std::min(push, residual(arcs_[at(a)].edge));
      std::size_t keep = path_.size();
      for (std::size_t i = path_.size(); i-- > 0;) {
        const int e = arcs_[at(path_[i])].edge;
        if (e >= 0) {
          flow_[at(e)] += push;
        } else {
          flow_[at(~e)] -= push;
        }
        if (residual(e) == 0) keep = i;
      }
      // Some hundred paths of nearly no limit may come to more than a number holds: less is a true bound still.
      value_ = std::min(value_, std::numeric_limits<Flow>::max() - push) + push;
      path_.resize(keep);
      v = path_.empty() ? kSource : arcs_[at(path_.back())].to;
      continue;
    }
    int& a = next_[at(v)];
    const int end = first_[at(v) + 1];
    while (a < end && !(level_[at(arcs_[at(a)].to)] == level_[at(v)] + 1 && residual(arcs_[at(a)].edge) > 0))
      ++a;
    if (a < end) {
      path_.push_back(a);
      v = arcs_[at(a)].to;
      continue;
    }
    if (path_.empty()) return;
    const Arc& back = arcs_[at(path_.back())];
    v = back.edge >= 0 ? from_[at(back.edge)] : to_[at(~back.edge)];
    path_.pop_back();
    ++next_[at(v)];
  }
}

MinCut::Flow MinCut::solve() {
  if (!indexed_) index();
  if (too_much_) {
    std::fill(flow_.begin(), flow_.end(), 0);
    value_ = 0;
    too_much_ = false;
  }
  complete_ = false;
  const std::int64_t before = work_left_;
  const bool large = nodes_ > kLarge;
  while (work_left_ > 0 && !(large && limit_ != nullptr && limit_->time_is_up())) {
    if (!layer()) {
      complete_ = true;
      break;
    }
    block();
  }
  work_done_ += before - work_left_;
  worked(static_cast<double>(before - work_left_), kSecondsAnArc);
  return value_;
}

}  // namespace tidemark::plan
