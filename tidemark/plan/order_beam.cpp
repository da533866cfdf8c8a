// Orders of whole problems: a beam of sets of tasks that have run, and a linear pass that runs early what
// costs nothing. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "tidemark/base/random.h"
#include "tidemark/plan/order_graph.h"

namespace tidemark::plan::ordering {
namespace {

struct History {
  std::int32_t parent;
  Index task;
};

struct State {
  Replayer replay;
  std::vector<Index> ready;  // in list order
  std::size_t ran = 0;
  std::uint64_t hash = 0;  // of the set that has run
  std::int32_t history = -1;

  void run(Index t, std::vector<History>& histories) {
    ready.erase(std::lower_bound(ready.begin(), ready.end(), t));
    replay.run(t,
               [&](Index next) { ready.insert(std::lower_bound(ready.begin(), ready.end(), next), next); });
    ++ran;
    hash ^= Rng(static_cast<std::uint64_t>(t)).next();
    histories.push_back({history, t});
    history = static_cast<std::int32_t>(histories.size()) - 1;
  }

  // As in the exact search: what frees no less than it takes, within the peak so far, cannot be wrong.
  void settle(std::vector<History>& histories) {
    for (std::size_t k = 0; k < ready.size();) {
      const Replayer::Effect e = replay.effect(ready[k]);
      if (e.after <= replay.live() && e.during <= replay.peak()) {
        run(ready[k], histories);
        k = 0;
      } else {
        ++k;
      }
    }
  }
};

}  // namespace

std::vector<Index> order_beam(const OrderGraph& graph, std::size_t width, std::int64_t& states) {
  std::vector<History> histories;
  State start{Replayer(graph), {}, 0, 0, -1};
  for (std::size_t t = 0; t < graph.tasks.size(); ++t)
    if (start.replay.ready(static_cast<Index>(t))) start.ready.push_back(static_cast<Index>(t));
  start.settle(histories);
  std::map<std::size_t, std::vector<State>> layers;  // by how many tasks have run
  layers[start.ran].push_back(std::move(start));
  const auto key = [](const State& s) { return std::tuple(s.replay.peak(), s.replay.live(), s.hash); };
  while (!layers.empty()) {
    std::vector<State> layer = std::move(layers.begin()->second);
    layers.erase(layers.begin());
    std::sort(layer.begin(), layer.end(), [&](const State& a, const State& b) { return key(a) < key(b); });
    if (layer.front().ran == graph.tasks.size()) {
      std::vector<Index> order;
      for (std::int32_t h = layer.front().history; h >= 0; h = histories[static_cast<std::size_t>(h)].parent)
        order.push_back(histories[static_cast<std::size_t>(h)].task);
      std::reverse(order.begin(), order.end());
      return order;
    }
    std::vector<std::uint64_t> hashes;
    using Child = std::tuple<Bytes, Bytes, Index, std::size_t>;  // peak, live, task, place in layer
    std::vector<Child> children;
    for (std::size_t k = 0; k < layer.size() && hashes.size() < width; ++k) {
      if (std::find(hashes.begin(), hashes.end(), layer[k].hash) != hashes.end()) continue;
      hashes.push_back(layer[k].hash);
      for (const Index t : layer[k].ready) {
        const Replayer::Effect e = layer[k].replay.effect(t);
        children.emplace_back(std::max(layer[k].replay.peak(), e.during), e.after, t, k);
      }
      states -= static_cast<std::int64_t>(layer[k].ready.size());
    }
    if (states < 0) return {};
    const std::size_t kept = std::min(children.size(), width);
    std::partial_sort(children.begin(), children.begin() + static_cast<std::ptrdiff_t>(kept), children.end());
    for (std::size_t c = 0; c < kept; ++c) {
      State next = layer[std::get<3>(children[c])];
      next.run(std::get<2>(children[c]), histories);
      next.settle(histories);
      layers[next.ran].push_back(std::move(next));
    }
  }
  return {};
}

std::vector<Index> order_eager(const OrderGraph& graph, Bytes peak) {
  Replayer state(graph);
  const std::size_t n = graph.tasks.size();
  std::vector<char> ran(n, 0);
  std::vector<std::int32_t> left;  // tasks that have yet to touch a buffer
  for (const OrderBuffer& b : graph.buffers) left.push_back(static_cast<std::int32_t>(b.touched_by.size()));
  std::vector<Index> order, look;
  const auto run = [&](Index t) {
    ran[static_cast<std::size_t>(t)] = 1;
    order.push_back(t);
    state.run(t, [&](Index next) { look.push_back(next); });
    for (const Index b : graph.tasks[static_cast<std::size_t>(t)].touches) {
      if (--left[static_cast<std::size_t>(b)] != 1) continue;
      for (const Index last : graph.buffers[static_cast<std::size_t>(b)].touched_by)
        if (!ran[static_cast<std::size_t>(last)]) look.push_back(last);
    }
  };
  for (std::size_t t = 0; t < n; ++t) {
    if (ran[t]) continue;
    run(static_cast<Index>(t));
    while (!look.empty()) {
      const Index next = look.back();
      look.pop_back();
      if (ran[static_cast<std::size_t>(next)] || !state.ready(next)) continue;
      const Replayer::Effect e = state.effect(next);
      if (e.after <= state.live() && e.during <= peak) run(next);
    }
  }
  return order;
}

}  // namespace tidemark::plan::ordering
