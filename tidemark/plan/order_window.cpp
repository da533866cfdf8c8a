// Exact ordering of up to 64 tasks: best first over sets of tasks that have run, as bits of a word.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "tidemark/base/error.h"
#include "tidemark/plan/order_graph.h"

namespace tidemark::plan::ordering {
namespace {

using Mask = std::uint64_t;

class Window {
 public:
  Window(const OrderGraph& graph, std::span<const Index> window, std::span<const Index> position, Index end);
  std::vector<Index> search(Bytes live, Bytes peak, std::int64_t& states) const;

 private:
  struct Mortal {
    Mask touches = 0;  // tasks of the window
    Bytes bytes = 0;
  };
  struct Local {
    Mask before = 0;
    Bytes births = 0, workspace = 0;
    std::vector<std::size_t> ends;                          // mortals that it touches
    std::vector<std::pair<std::size_t, Bytes>> take_overs;  // mortal, bytes saved if this is its last touch
  };
  struct Node {
    Mask ran = 0;
    Bytes live = 0, peak = 0;
    std::int32_t parent = -1, task = -1;
  };
  struct Effect {
    Bytes during, after;
  };

  Effect effect(Mask ran, Bytes live, std::size_t t) const {
    const Local& l = locals_[t];
    Effect e{live + l.births + l.workspace, live + l.births};
    const Mask then = ran | Mask{1} << t;
    for (const std::size_t m : l.ends)
      if ((mortals_[m].touches & ~then) == 0) e.after -= mortals_[m].bytes;
    for (const auto& [m, saved] : l.take_overs)
      if ((mortals_[m].touches & ~then) == 0) e.during -= saved;
    return e;
  }
  bool ready(Mask ran, std::size_t t) const { return !(ran >> t & 1) && (locals_[t].before & ~ran) == 0; }
  // Runs what frees no less than it takes and stays within the peak: that can never be wrong, since doing it
  // earlier only lowers what is live until its old place.
  void settle(Node& node, std::vector<Index>* order) const;

  std::span<const Index> window_;
  std::vector<Local> locals_;
  std::vector<Mortal> mortals_;
};

Window::Window(const OrderGraph& graph, std::span<const Index> window, std::span<const Index> position,
               Index end)
    : window_(window), locals_(window.size()) {
  const Index begin = end - static_cast<Index>(window.size());
  std::vector<std::pair<Index, std::size_t>> mortal_of;  // buffer, mortal; ordered once all are known
  const auto bit = [&](Index task) {
    const Index p = position[static_cast<std::size_t>(task)];
    return p >= begin && p < end ? Mask{1} << (p - begin) : Mask{0};
  };
  std::vector<Index> touched;
  for (const Index t : window) {
    const auto& touches = graph.tasks[static_cast<std::size_t>(t)].touches;
    touched.insert(touched.end(), touches.begin(), touches.end());
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  for (const Index b : touched) {
    const OrderBuffer& buffer = graph.buffers[static_cast<std::size_t>(b)];
    const bool survives =
        buffer.kept || std::any_of(buffer.touched_by.begin(), buffer.touched_by.end(),
                                   [&](Index t) { return position[static_cast<std::size_t>(t)] >= end; });
    if (survives) continue;
    Mortal mortal{0, buffer.bytes};
    for (const Index t : buffer.touched_by) mortal.touches |= bit(t);
    mortal_of.emplace_back(b, mortals_.size());
    mortals_.push_back(mortal);
  }
  const auto find = [&](Index b) {
    const auto at = std::lower_bound(mortal_of.begin(), mortal_of.end(), std::pair<Index, std::size_t>(b, 0));
    return at != mortal_of.end() && at->first == b ? static_cast<std::ptrdiff_t>(at->second) : -1;
  };
  for (std::size_t k = 0; k < window.size(); ++k) {
    const OrderTask& task = graph.tasks[static_cast<std::size_t>(window[k])];
    Local& l = locals_[k];
    l.workspace = task.workspace;
    for (const Index p : task.before) l.before |= bit(p);
    for (const Index b : task.births) l.births += graph.buffers[static_cast<std::size_t>(b)].bytes;
    for (const Index b : task.touches)
      if (const auto m = find(b); m >= 0) l.ends.push_back(static_cast<std::size_t>(m));
    for (const auto& [r, w] : task.in_place)
      if (const auto m = find(r); m >= 0)
        l.take_overs.emplace_back(static_cast<std::size_t>(m),
                                  graph.buffers[static_cast<std::size_t>(w)].bytes);
  }
}

void Window::settle(Node& node, std::vector<Index>* order) const {
  for (bool again = true; again;) {
    again = false;
    for (std::size_t t = 0; t < window_.size(); ++t) {
      if (!ready(node.ran, t)) continue;
      const Effect e = effect(node.ran, node.live, t);
      if (e.after > node.live || e.during > node.peak) continue;
      node.ran |= Mask{1} << t;
      node.live = e.after;
      if (order) order->push_back(window_[t]);
      again = true;
    }
  }
}

std::vector<Index> Window::search(Bytes live, Bytes peak, std::int64_t& states) const {
  const Mask all = window_.size() == 64 ? ~Mask{0} : (Mask{1} << window_.size()) - 1;
  std::vector<Node> nodes;
  std::unordered_map<Mask, Bytes> seen;  // looked up only, so its order does not matter
  using Entry = std::tuple<Bytes, int, std::int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  const auto push = [&](Node node) {
    settle(node, nullptr);
    const auto [at, fresh] = seen.emplace(node.ran, node.peak);
    if (!fresh && at->second <= node.peak) return;
    at->second = node.peak;
    open.emplace(node.peak, -std::popcount(node.ran), static_cast<std::int32_t>(nodes.size()));
    nodes.push_back(node);
  };
  push({.ran = 0, .live = live, .peak = live});
  while (!open.empty() && --states >= 0) {
    const std::int32_t id = std::get<2>(open.top());
    open.pop();
    const Node node = nodes[static_cast<std::size_t>(id)];
    if (seen[node.ran] < node.peak) continue;
    if (node.ran == all) {
      std::vector<std::int32_t> path;
      for (std::int32_t k = id; k >= 0; k = nodes[static_cast<std::size_t>(k)].parent) path.push_back(k);
      std::vector<Index> order;
      Node at{.ran = 0, .live = live, .peak = live};
      for (auto k = path.rbegin(); k != path.rend(); ++k) {
        if (const std::int32_t t = nodes[static_cast<std::size_t>(*k)].task; t >= 0) {
          const Effect e = effect(at.ran, at.live, static_cast<std::size_t>(t));
          at.ran |= Mask{1} << t;
          at.live = e.after;
          at.peak = std::max(at.peak, e.during);
          order.push_back(window_[static_cast<std::size_t>(t)]);
        }
        settle(at, &order);
      }
      return order;
    }
    for (std::size_t t = 0; t < window_.size(); ++t) {
      if (!ready(node.ran, t)) continue;
      const Effect e = effect(node.ran, node.live, t);
      if (e.during >= peak) continue;
      push({node.ran | Mask{1} << t, e.after, std::max(node.peak, e.during), id,
            static_cast<std::int32_t>(t)});
    }
  }
  return {};
}

}  // namespace

std::vector<Index> order_window(const OrderGraph& graph, std::span<const Index> window, Bytes live,
                                std::span<const Index> position, Index end, Bytes peak,
                                std::int64_t& states) {
  TIDEMARK_CHECK(window.size() <= 64);
  return Window(graph, window, position, end).search(live, peak, states);
}

}  // namespace tidemark::plan::ordering
