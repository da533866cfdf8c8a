// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/order.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/order_graph.h"
#include "tidemark/plan/order_tree.h"

namespace tidemark::plan {
namespace {

using namespace ordering;

// An order with the bytes live during and before each of its tasks.
struct Profile {
  std::vector<Index> order, position;
  std::vector<Bytes> during, before;

  Profile(const OrderGraph& graph, std::vector<Index> tasks)
      : order(std::move(tasks)), position(order.size()) {
    Replayer state(graph);
    for (std::size_t p = 0; p < order.size(); ++p) {
      position[static_cast<std::size_t>(order[p])] = static_cast<Index>(p);
      during.push_back(state.effect(order[p]).during);
      before.push_back(state.live());
      state.run(order[p], [](Index) {});
    }
  }
  std::size_t peak_at() const {
    return static_cast<std::size_t>(std::max_element(during.begin(), during.end()) - during.begin());
  }
  Bytes peak() const { return during.empty() ? 0 : during[peak_at()]; }
};

constexpr double kSecondsAState = 5e-6;

std::vector<Index> indices_of(const OrderGraph& graph, const Problem& problem,
                              const std::vector<TaskId>& order) {
  std::vector<Index> index(problem.tasks.size(), -1);
  for (std::size_t t = 0; t < graph.ids.size(); ++t)
    index[static_cast<std::size_t>(graph.ids[t])] = static_cast<Index>(t);
  std::vector<Index> out;
  for (const TaskId id : order) out.push_back(index[static_cast<std::size_t>(id)]);
  return out;
}

// Reorders stretches around the peak for as long as one lowers it.
void improve_windows(const OrderGraph& graph, Profile& p, std::int64_t& states, double stop) {
  const std::size_t n = p.order.size();
  while (states > 0 && cpu_seconds() < stop) {
    const std::size_t at = p.peak_at();
    const Bytes peak = p.during[at];
    bool better = false;
    // A few placements of the stretch about the peak: before, about, after; whole where it fits.
    for (const std::size_t back : {32u, 56u, 8u}) {
      const std::size_t size = std::min<std::size_t>(n, 64);
      const std::size_t begin = std::min(at > back ? at - back : 0, n - size);
      const std::span<const Index> window(p.order.data() + begin, size);
      std::int64_t some = std::min<std::int64_t>(states, n <= 64 ? states : 20000);
      const std::int64_t given = some;
      const std::vector<Index> tasks = order_window(graph, window, p.before[begin], p.position,
                                                    static_cast<Index>(begin + size), peak, some);
      states -= given - std::max<std::int64_t>(some, 0);
      worked(static_cast<double>(given - some), kSecondsAState);
      if (!tasks.empty()) {
        std::vector<Index> order = p.order;
        std::copy(tasks.begin(), tasks.end(), order.begin() + static_cast<std::ptrdiff_t>(begin));
        Profile next(graph, std::move(order));
        better = next.peak() < peak || std::count(next.during.begin(), next.during.end(), peak) <
                                           std::count(p.during.begin(), p.during.end(), peak);
        if (better) p = std::move(next);
      }
      if (better || n <= 64) break;
    }
    if (!better || n <= 64) return;
  }
}

}  // namespace

std::vector<TaskId> order(const Problem& problem, const OrderOptions& options) {
  const double stop = cpu_seconds() + options.time_limit;
  const OrderGraph graph = make_order_graph(problem, options.in_place);
  const std::size_t n = graph.tasks.size();
  std::vector<Index> list(n);
  std::iota(list.begin(), list.end(), 0);
  Profile best(graph, std::move(list));
  // A state costs about a microsecond per task; the time limit is turned into states once, so that the rest
  // of the search has no clock in it but the coarse one between its parts.
  std::int64_t states = options.effort;
  if (states < 0) states = static_cast<std::int64_t>(options.time_limit / kSecondsAState);

  const auto keep = [&](std::vector<Index> tasks) {
    if (tasks.empty()) return;
    Profile next(graph, std::move(tasks));
    if (next.peak() < best.peak()) best = std::move(next);
  };
  if (n == 0) return {};
  keep(order_eager(graph, best.peak()));
  // Exact on trees, but for what is in place.
  keep(indices_of(graph, problem, tree_order(problem).order));
  if (n > 64 && n <= 4000) {
    for (std::size_t width = 1; states > 0 && width <= 256 && cpu_seconds() < stop; width *= 4) {
      const std::int64_t before = states;
      keep(order_beam(graph, width, states));
      worked(static_cast<double>(before - states), kSecondsAState);
    }
  }
  states = std::max<std::int64_t>(states, options.effort < 0 ? 20000 : 0);
  improve_windows(graph, best, states, stop);

  std::vector<TaskId> out;
  for (const Index t : best.order) out.push_back(graph.ids[static_cast<std::size_t>(t)]);
  return out;
}

Bytes live_peak(const Problem& problem, std::span<const TaskId> order, bool in_place) {
  const OrderGraph graph = make_order_graph(problem, in_place);
  if (order.size() != graph.tasks.size()) return -1;
  std::vector<Index> index(problem.tasks.size(), -1);
  for (std::size_t t = 0; t < graph.ids.size(); ++t)
    index[static_cast<std::size_t>(graph.ids[t])] = static_cast<Index>(t);
  Replayer state(graph);
  for (const TaskId id : order) {
    if (id < 0 || static_cast<std::size_t>(id) >= index.size()) return -1;
    const Index t = index[static_cast<std::size_t>(id)];
    if (t < 0 || !state.ready(t)) return -1;
    state.run(t, [](Index) {});
  }
  return state.peak();
}

}  // namespace tidemark::plan
