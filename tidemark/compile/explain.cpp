// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/explain.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "tidemark/base/text.h"
#include "tidemark/compile/micro_batches.h"
#include "tidemark/compile/storage_facts.h"
#include "tidemark/ir/op.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/solve.h"

namespace tidemark {
namespace {

constexpr std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

Way::Kind kind_of(const Maker& maker) {
  if (maker.method == "inverse") return Way::Kind::inverted;
  if (maker.method == "mask") return Way::Kind::mask;
  if (maker.method == "factor") return Way::Kind::factor;
  return maker.method == "in consumer" ? Way::Kind::in_consumer : Way::Kind::encoded;
}

// What the maker's last task need not read: the value that it gives back, or those that it runs without.
std::vector<plan::BufferId> spared_by(const plan::Problem& problem, const Maker& maker) {
  if (maker.instead.empty()) return {maker.buffer};
  std::vector<plan::BufferId> spared;
  const auto& left = problem.tasks[at(maker.run.back())].reads;
  for (const plan::TaskId t : maker.instead) {
    for (const plan::BufferId b : problem.tasks[at(t)].reads) {
      if (std::find(left.begin(), left.end(), b) == left.end()) spared.push_back(b);
    }
  }
  return spared;
}

// One walk through the steps for the buffers asked for. `wanted`: several buffers may be one value.
class Walk {
 public:
  Walk(const Posed& posed, const plan::Plan& plan, std::unordered_map<plan::BufferId, Explanation*> wanted)
      : problem_(posed.problem),
        makers_(posed.makers),
        plan_(plan),
        wanted_(std::move(wanted)),
        maker_of_(problem_.tasks.size(), nullptr),
        runs_(problem_.tasks.size(), 0) {
    for (const Maker& m : makers_) maker_of_[at(m.run.back())] = &m;
  }

  void run() {
    const std::int32_t peak = plan::replay(problem_, plan_).peak_step;
    for (auto& [b, e] : wanted_) spans_[e];
    double time = 0;
    for (std::int32_t s = 0; at(s) < plan_.steps.size(); ++s) {
      const plan::Step& step = plan_.steps[at(s)];
      if (step.kind == plan::Step::Kind::run) {
        run_task(step, time);
        time += problem_.tasks[at(step.id)].seconds;
        if (s == peak) mark_live();
        for (const auto& [from, to] : step.in_place) gone(from, time);
      } else if (step.kind == plan::Step::Kind::drop) {
        gone(step.id, time);
      } else if (step.kind == plan::Step::Kind::evict || step.kind == plan::Step::Kind::fetch) {
        copy(step, time);
      } else if (step.kind == plan::Step::Kind::wait) {
        if (std::erase(leaving_, step.id) > 0) gone(step.id, time);
      }
    }
    for (const Maker& m : makers_) add_way(m);
    for (auto& [e, span] : spans_) {
      const double whole = span.last - span.first;
      if (whole > 0 && !e->resident) e->gone = std::clamp(span.absent / whole, 0.0, 1.0);
      e->live_at_peak = e->live_at_peak || e->resident;
      for (const Way& way : e->ways) {
        if (way.kind != Way::Kind::moved) e->seconds_again += way.seconds;
      }
    }
  }

 private:
  struct Span {
    double first = -1, last = 0, absent = 0,
           pending = -1;  // pending: gone since then, unless never used again
    bool live = false;
  };
  Explanation* find(plan::BufferId b) const {
    const auto e = wanted_.find(b);
    return e == wanted_.end() ? nullptr : e->second;
  }
  static Way& way(Explanation& e, Way::Kind kind, const std::string& by) {
    for (Way& w : e.ways) {
      if (w.kind == kind && w.by == by) return w;
    }
    e.ways.push_back({.kind = kind, .by = by});
    return e.ways.back();
  }

  void run_task(const plan::Step& step, double time) {
    const plan::Task& task = problem_.tasks[at(step.id)];
    ++runs_[at(step.id)];
    for (const plan::BufferId b : task.reads) {
      if (Explanation* e = find(b)) ++e->uses, spans_[e].last = time;
    }
    if (const Maker* m = maker_of_[at(step.id)]; m != nullptr && !m->instead.empty()) {
      for (const plan::BufferId b : spared_by(problem_, *m)) {
        if (Explanation* e = find(b)) not_needed(spans_[e], time);
      }
    }
    for (const plan::BufferId b : task.writes) {
      if (Explanation* e = find(b)) make(*e, b, step.id, time);
    }
    for (const auto& pair : step.in_place) {
      for (const plan::BufferId b : {pair.first, pair.second}) {
        if (Explanation* e = find(b)) e->in_place = true;
      }
    }
  }
  void make(Explanation& e, plan::BufferId b, plan::TaskId t, double time) {
    const plan::Task& task = problem_.tasks[at(t)];
    ++e.made;
    const bool update = std::find(task.reads.begin(), task.reads.end(), b) != task.reads.end();
    const Maker* m = maker_of_[at(t)];
    if (update) {
      ++e.updated;
    } else if (e.made - e.updated > 1 && (m == nullptr || !m->instead.empty())) {
      Way& again = way(e, Way::Kind::recomputed, "");
      ++again.times;
      // A run that makes several values again is paid for once. What a stand-in takes more is told of those that it spares.
      double seconds = m == nullptr ? task.seconds : 0;
      if (m != nullptr) {
        for (const plan::TaskId other : m->instead) seconds += problem_.tasks[at(other)].seconds;
      }
      again.seconds += seconds / static_cast<double>(task.writes.size());
      if (std::find(again.tasks.begin(), again.tasks.end(), t) == again.tasks.end()) again.tasks.push_back(t);
    }
    there(e, time);
  }
  void copy(const plan::Step& step, double time) {
    Explanation* e = find(step.id);
    if (e == nullptr) return;
    const plan::Tier& tier = problem_.tiers[at(step.tier)];
    const bool out = step.kind == plan::Step::Kind::evict;
    Way& moved = way(*e, Way::Kind::moved, tier.name);
    moved.seconds +=
        tier.latency_seconds + static_cast<double>(problem_.size(step.id)) /
                                   (out ? tier.write_bytes_per_second : tier.read_bytes_per_second);
    moved.kept = problem_.size(step.id);
    if (out) {
      leaving_.push_back(step.id);
    } else {
      ++moved.times;
      there(*e, time);
    }
  }
  // What ran for the maker beyond what it ran instead of.
  void add_way(const Maker& m) {
    const int times = runs_[at(m.run.back())];
    double seconds = 0;
    Bytes kept = 0;
    for (const plan::TaskId t : m.run) {
      seconds += runs_[at(t)] * problem_.tasks[at(t)].seconds;
      if (t == m.run.back() || runs_[at(t)] == 0) continue;
      for (const plan::BufferId b : problem_.tasks[at(t)].writes) kept += problem_.size(b);
    }
    for (const plan::TaskId t : m.instead) seconds -= times * problem_.tasks[at(t)].seconds;
    if (std::all_of(m.run.begin(), m.run.end(), [&](plan::TaskId t) { return runs_[at(t)] == 0; })) return;
    const std::vector<plan::BufferId> spared = spared_by(problem_, m);
    for (const plan::BufferId b : spared) {
      Explanation* e = find(b);
      if (e == nullptr) continue;
      const plan::Task& last = problem_.tasks[at(m.run.back())];
      e->ways.push_back({.kind = kind_of(m),
                         .by = m.instead.empty() ? m.method : last.name,
                         .tasks = m.run,
                         .times = times,
                         .seconds = seconds / static_cast<double>(spared.size()),
                         .kept = kept});
    }
  }

  void there(Explanation& e, double time) {
    Span& span = spans_[&e];
    if (span.pending >= 0) span.absent += time - span.pending;
    span.pending = -1;
    span.live = true;
    if (span.first < 0) span.first = time;
    span.last = std::max(span.last, time);
  }
  static void not_needed(Span& span, double time) {
    if (span.pending >= 0) span.absent += time - std::exchange(span.pending, time);
    span.last = std::max(span.last, time);
  }
  void gone(plan::BufferId b, double time) {
    Explanation* e = find(b);
    if (e == nullptr) return;
    spans_[e].live = false;
    spans_[e].pending = time;
  }
  void mark_live() {
    for (auto& [e, span] : spans_) e->live_at_peak = span.live;
  }

  const plan::Problem& problem_;
  const std::vector<Maker>& makers_;
  const plan::Plan& plan_;
  std::unordered_map<plan::BufferId, Explanation*> wanted_;
  std::unordered_map<Explanation*, Span> spans_;
  std::vector<const Maker*> maker_of_;  // by task that ends one
  std::vector<int> runs_;               // by task
  std::vector<plan::BufferId> leaving_;
};

std::string times(int n) { return fmt::format("{} time{}", n, n == 1 ? "" : "s"); }

std::string sentence_of(const Way& way) {
  const std::string cost = format_seconds(way.seconds), kept = format_bytes(way.kept);
  switch (way.kind) {
    case Way::Kind::recomputed:
      return fmt::format("made {} again ({} a step)", times(way.times), cost);
    case Way::Kind::inverted:
      return fmt::format("given back {} by the inverse of what reads it ({} a step{})", times(way.times),
                         cost,
                         way.kept > 0 ? fmt::format(", {} kept of what rounding took", kept) : ", rounded");
    case Way::Kind::encoded:
      return fmt::format("kept as {} in {} and decoded {} ({} a step)", way.by, kept, times(way.times), cost);
    case Way::Kind::moved:
      return fmt::format("moved to {} and back {} ({} of copying beside the work)", way.by, times(way.times),
                         cost);
    case Way::Kind::mask:
    case Way::Kind::factor:
      return fmt::format("'{}' reads a {} of {} instead ({} a step more)", way.by,
                         way.kind == Way::Kind::mask ? "mask" : "factor", kept, cost);
    case Way::Kind::in_consumer:
      return fmt::format("computed again inside '{}', not in memory ({} a step more)", way.by, cost);
  }
  return "";
}

std::string sentence(const Explanation& e) {
  std::string out = fmt::format("{}: {}, {}", e.name, e.type, format_bytes(e.bytes));
  if (!e.op.empty()) out += fmt::format(", made by {}{}", e.op, e.loc.empty() ? "" : " at " + e.loc);
  out += ": ";
  std::vector<std::string> parts;
  if (e.resident) parts.emplace_back(e.updated > 0 ? "always there, updated in place" : "always there");
  if (!e.resident && e.updated > 0) parts.emplace_back("updated in place");
  for (const Way& way : e.ways) parts.push_back(sentence_of(way));
  if (parts.empty())
    parts.emplace_back(e.uses > 0 ? "kept until its last use; costs nothing" : "a result, kept to the end");
  if (e.gone > 0)
    parts.push_back(fmt::format("its {} are free for {:.0f} % of the time between its first and last use",
                                format_bytes(e.bytes), 100 * e.gone));
  if (e.in_place) parts.emplace_back("shares storage with the value it is made from or gives it on in place");
  if (e.live_at_peak && !e.resident) parts.emplace_back("live at the peak");
  return out + join(parts, "; ");
}

}  // namespace

std::vector<Explanation> explain(const Posed& posed, const plan::Plan& plan, std::string_view pattern) {
  const Graph& g = posed.binding.graph;
  const std::vector<std::int32_t> maker = makers(g);
  std::vector<Explanation> found;
  std::vector<char> taken(posed.problem.buffers.size(), 0);
  for (std::size_t v = 0; v < g.values.size(); ++v) {
    const plan::BufferId b = posed.binding.buffer_of_value[v];
    if (b < 0 || taken[at(b)]) continue;
    // An argument that is a lone tensor, and what the program gives no name, have those of their buffers.
    const std::string& name = g.values[v].name.empty() ? posed.problem.buffers[at(b)].name : g.values[v].name;
    if (name.empty() || !names(pattern, name)) continue;
    taken[at(b)] = 1;
    const ValueId root = root_of(g, static_cast<ValueId>(v));
    Explanation e{.name = name, .buffer = b, .type = to_string(g.type(root)), .bytes = posed.problem.size(b)};
    e.resident = posed.problem.buffers[at(b)].resident;
    if (const std::int32_t n = maker[at(root)]; n >= 0) {
      e.op = g.nodes[at(n)].op->name;
      e.loc = to_string(g.nodes[at(n)].loc);
    }
    found.push_back(std::move(e));
  }
  std::unordered_map<plan::BufferId, Explanation*> wanted;
  for (Explanation& e : found) wanted.emplace(e.buffer, &e);
  // The second buffer of a value that a pin has made again.
  for (std::size_t b = 0; b < posed.binding.value_of_buffer.size(); ++b) {
    const ValueId v = posed.binding.value_of_buffer[b];
    const auto first = v < 0 ? wanted.end() : wanted.find(posed.binding.buffer_of_value[at(v)]);
    if (first != wanted.end()) wanted.emplace(static_cast<plan::BufferId>(b), first->second);
  }
  Walk(posed, plan, std::move(wanted)).run();
  for (Explanation& e : found) e.text = sentence(e);
  return found;
}

Marginal what_more_buys(const plan::Problem& problem, const plan::Plan& plan, Bytes more, double time_limit) {
  Marginal marginal{.more = more};
  if (plan.budget < 0 || plan.seconds <= plan::floor_seconds(problem)) return marginal;
  const plan::WorkClock clock(problem.tasks.size());
  const plan::Plan larger = plan::solve(problem, {.budget = plan.budget + more,
                                                  .time_limit = time_limit,
                                                  .target_gap = 1e-3,
                                                  .bounds = false,
                                                  .warm_start = &plan});
  marginal.seconds_saved = std::max(0.0, plan.seconds - larger.seconds);
  return marginal;
}

std::string to_string(const Marginal& m) {
  if (m.seconds_saved <= 0) return fmt::format("{} more would save no time", format_bytes(m.more));
  return fmt::format("{} more would save {} a step", format_bytes(m.more), format_seconds(m.seconds_saved));
}

}  // namespace tidemark
