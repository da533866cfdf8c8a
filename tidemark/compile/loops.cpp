// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/loops.h"

#include <algorithm>

#include "tidemark/compile/compiled.h"
#include "tidemark/ops/loops.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/planners.h"
#include "tidemark/plan/solve.h"
#include "tidemark/schedule/revolve.h"

namespace tidemark {

std::int64_t LoopCosts::forward_steps(std::int64_t s) const {
  // Revolve's advances count the first sweep up to the last kept state; the primal's sweep is `trips` in any case.
  if (trips < 2) return trips;
  const std::int64_t all = schedule::revolve_advances(trips, s);
  std::int64_t first = 0;
  for (std::int64_t left = s; left > 1 && trips - first > 1; --left) first += schedule::revolve_split(trips - first, left);
  return trips + all - first;
}

double LoopCosts::seconds(std::int64_t s) const { return static_cast<double>(forward_steps(s) - trips) * advance; }

namespace {

struct PairNodes {
  std::size_t saving, adjoint;
};

std::vector<PairNodes> pairs_of(const Graph& g) {
  std::vector<PairNodes> pairs;
  const std::vector<std::int32_t> maker = makers(g);
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    if (g.nodes[n].op == &scan_adjoint_op) pairs.push_back({static_cast<std::size_t>(maker[static_cast<std::size_t>(g.nodes[n].in[0])]), n});
  }
  return pairs;
}

std::vector<Type> state_of(const Graph& g, const Node& adjoint) {
  const AdjointShape s = adjoint_shape(adjoint.attrs, adjoint.regions);
  std::vector<Type> state;
  for (int i = 0; i < s.states; ++i) state.push_back(g.type(adjoint.in[static_cast<std::size_t>(s.first_state() + i)]));
  return state;
}

void set_slots(Graph& g, const PairNodes& pair, std::int64_t slots) {
  const Type bytes{Shape{(slots - 1) * snapshot_bytes(state_of(g, g.nodes[pair.adjoint]))}, DType::u8};
  g.nodes[pair.saving].attrs.set("slots", slots);
  g.nodes[pair.adjoint].attrs.set("slots", slots);
  g.value(g.nodes[pair.saving].out.back()).type = bytes;
  g.value(g.nodes[pair.adjoint].out[0]).type = slots < g.nodes[pair.adjoint].attrs.integer("trips") ? bytes : Type{Shape{0}, DType::u8};
}

void set_inner(Graph& g, Bytes budget) {
  for (Node& n : g.nodes) {
    if (is_loop(*n.op)) n.attrs.set("inner", budget);
  }
}

// As many slots as `bytes` hold, shared out where a byte saves most time.
std::vector<std::int64_t> share(const std::vector<LoopCosts>& loops, Bytes bytes) {
  std::vector<std::int64_t> slots(loops.size(), 1);
  for (;;) {
    std::size_t best = loops.size();
    std::int64_t best_slots = 0;
    double best_rate = 0;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      const std::int64_t room = loops[i].snapshot > 0 ? slots[i] + bytes / loops[i].snapshot : loops[i].trips;
      // In steps that grow, so that a million slots are shared out in a few rounds.
      const std::int64_t next = std::min({loops[i].trips, room, loops.size() == 1 ? loops[i].trips : slots[i] + std::max<std::int64_t>(1, slots[i] / 8)});
      if (next <= slots[i]) continue;
      const double saved = loops[i].seconds(slots[i]) - loops[i].seconds(next);
      const double rate = saved / static_cast<double>(std::max<Bytes>(1, (next - slots[i]) * loops[i].snapshot));
      if (best == loops.size() || rate > best_rate) best = i, best_slots = next, best_rate = rate;
    }
    if (best == loops.size()) return slots;
    bytes -= (best_slots - slots[best]) * loops[best].snapshot;
    slots[best] = best_slots;
  }
}

struct Try {
  bool fits = false;
  double seconds = 0;
};

Try attempt(const Graph& g, Bytes budget, const PoseOptions& options, double time_limit) {
  const plan::Problem problem = pose(g, options).problem;
  const plan::Plan all = plan::run_planner(*plan::find_planner("store_all"), problem, {});
  if (all.peak <= budget) return {true, all.seconds};
  plan::Options solve{.budget = budget, .time_limit = time_limit, .effort = 200, .bounds = false};
  const plan::Plan plan = plan::solve(problem, solve);
  return {plan.status == plan::Plan::Status::feasible || plan.status == plan::Plan::Status::optimal, plan.seconds};
}

}  // namespace

Graph smallest_loops(Graph graph) {
  for (const PairNodes& pair : pairs_of(graph)) set_slots(graph, pair, 1);
  set_inner(graph, RegionCache::kLeast);
  return graph;
}

Graph choose_loops(Graph graph, Bytes budget, const PoseOptions& given, double time_limit) {
  PoseOptions options = given;
  if (!options.regions) options.regions = std::make_shared<RegionCache>();
  if (attempt(graph, budget, options, 0).fits) return graph;
  const std::vector<PairNodes> pairs = pairs_of(graph);
  Graph best = smallest_loops(graph);
  double best_seconds = -1;
  for (const Bytes inner : {RegionCache::kWhatever, RegionCache::kLeast}) {
    std::vector<LoopCosts> costs;
    Bytes most = 0;
    for (const PairNodes& pair : pairs) {
      const Node& n = graph.nodes[pair.adjoint];
      const std::int64_t trips = n.attrs.integer("trips");
      const Bytes snapshot = snapshot_bytes(state_of(graph, n));
      costs.push_back({.trips = trips, .slots = trips, .snapshot = snapshot, .advance = options.regions->at(n.regions[0], inner, options).seconds});
      most += (trips - 1) * snapshot;
    }
    const auto with = [&](Bytes bytes) {
      Graph g = graph;
      set_inner(g, inner);
      const std::vector<std::int64_t> slots = share(costs, bytes);
      for (std::size_t i = 0; i < pairs.size(); ++i) set_slots(g, pairs[i], slots[i]);
      return g;
    };
    const auto consider = [&](Bytes bytes) {
      Graph g = with(bytes);
      const Try t = attempt(g, budget, options, time_limit / 8);
      if (t.fits && (best_seconds < 0 || t.seconds < best_seconds)) {
        best_seconds = t.seconds;
        best = std::move(g);
      }
      return t.fits;
    };
    if (!consider(0)) continue;
    // Halving between what fits and what does not, until a snapshot more or less is all the difference.
    Bytes low = 0, high = std::min(most, budget) + 1;
    Bytes unit = std::max<Bytes>(1, most / 1024);
    for (const LoopCosts& c : costs) unit = std::min(unit, std::max<Bytes>(1, c.snapshot));
    for (int k = 0; k < 24 && high - low > unit; ++k) {
      const Bytes middle = low + (high - low) / 2;
      (consider(middle) ? low : high) = middle;
    }
  }
  return best;
}

Graph fit_loops(Graph graph, Budget& memory, const PoseOptions& options, double time_limit) {
  if (!has_loops(graph) || memory.kind == Budget::Kind::unlimited) return graph;
  if (memory.kind == Budget::Kind::minimum) return smallest_loops(std::move(graph));
  if (memory.kind == Budget::Kind::fraction && memory.fraction >= 0 && memory.fraction <= 10)
    memory = Budget(plan::budget_at(pose(graph, options).problem, memory.fraction));
  return choose_loops(std::move(graph), memory.bytes, options, time_limit);
}

std::vector<std::string> explain_loops(const Graph& graph, const PoseOptions& given) {
  PoseOptions options = given;
  if (!options.regions) options.regions = std::make_shared<RegionCache>();
  std::vector<std::string> lines;
  for (const PairNodes& pair : pairs_of(graph)) {
    const Node& n = graph.nodes[pair.adjoint];
    const AdjointShape s = adjoint_shape(n.attrs, n.regions);
    const Bytes state = snapshot_bytes(state_of(graph, n)), kept = (s.slots - 1) * state;
    const Bytes step = options.regions->at(n.regions[1], n.attrs.integer("inner", RegionCache::kWhatever), options).arena;
    const LoopCosts costs{.trips = s.trips, .slots = s.slots, .snapshot = state};
    const auto forward = static_cast<double>(costs.forward_steps(s.slots)) / static_cast<double>(s.trips);
    lines.push_back(fmt::format("{} steps of {} in {}: {} snapshots and a {} step; {:.2g} forward runs a step; all states would take {}", s.trips,
                                format_bytes(state), format_bytes(kept + step), s.slots - 1, format_bytes(step), forward, format_bytes((s.trips - 1) * state)));
  }
  return lines;
}

}  // namespace tidemark
