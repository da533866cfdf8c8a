// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/explain.h"

#include <algorithm>
#include <unordered_map>

#include "tidemark/base/text.h"
#include "tidemark/compile/micro_batches.h"
#include "tidemark/compile/storage_facts.h"
#include "tidemark/ir/op.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/solve.h"

namespace tidemark {
namespace {

constexpr std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// One walk through the steps for the buffers asked for.
class Walk {
 public:
  Walk(const plan::Problem& problem, const plan::Plan& plan,
       std::unordered_map<plan::BufferId, Explanation*> wanted)
      : problem_(problem), plan_(plan), wanted_(std::move(wanted)) {}

  void run() {
    const std::int32_t peak = plan::replay(problem_, plan_).peak_step;
    std::vector<char> ran(problem_.tasks.size(), 0);
    double time = 0;
    for (auto& [b, e] : wanted_) spans_[b];
    for (std::int32_t s = 0; at(s) < plan_.steps.size(); ++s) {
      const plan::Step& step = plan_.steps[at(s)];
      if (step.kind == plan::Step::Kind::run) {
        const plan::Task& task = problem_.tasks[at(step.id)];
        for (const plan::BufferId b : task.reads) use(b, time);
        for (const plan::BufferId b : task.writes) make(b, task, ran[at(step.id)] != 0, time);
        for (const auto& [from, to] : step.in_place) {
          for (const plan::BufferId b : {from, to}) {
            if (const auto e = wanted_.find(b); e != wanted_.end()) e->second->in_place = true;
          }
        }
        ran[at(step.id)] = 1;
        time += task.seconds;
        if (s == peak) mark_live();
        for (const auto& [from, to] : step.in_place) gone(from, time);
      } else if (step.kind == plan::Step::Kind::drop) {
        gone(step.id, time);
      } else if (step.kind == plan::Step::Kind::fetch) {
        if (const auto e = wanted_.find(step.id); e != wanted_.end())
          ++e->second->fetched, there(step.id, time);
      }
    }
    for (auto& [b, e] : wanted_) {
      const Span& span = spans_[b];
      const double whole = span.last - span.first;
      if (whole > 0 && !e->resident) e->gone = std::clamp(span.absent / whole, 0.0, 1.0);
      e->live_at_peak = e->live_at_peak || e->resident;
    }
  }

 private:
  struct Span {
    double first = -1, last = 0, absent = 0,
           pending = -1;  // pending: gone since then, unless never used again
    bool live = false;
  };
  void there(plan::BufferId b, double time) {
    Span& span = spans_[b];
    if (span.pending >= 0) span.absent += time - span.pending;
    span.pending = -1;
    span.live = true;
    if (span.first < 0) span.first = time;
    span.last = time;
  }
  void use(plan::BufferId b, double time) {
    const auto e = wanted_.find(b);
    if (e == wanted_.end()) return;
    ++e->second->uses;
    spans_[b].last = time;
  }
  void make(plan::BufferId b, const plan::Task& task, bool again, double time) {
    const auto e = wanted_.find(b);
    if (e == wanted_.end()) return;
    ++e->second->made;
    if (std::find(task.reads.begin(), task.reads.end(), b) != task.reads.end()) ++e->second->updated;
    if (again || task.optional) e->second->seconds_again += task.seconds;
    if (task.optional) e->second->by = task.name.empty() ? task.kind : task.name;
    there(b, time);
  }
  void gone(plan::BufferId b, double time) {
    const auto e = wanted_.find(b);
    if (e == wanted_.end()) return;
    spans_[b].live = false;
    spans_[b].pending = time;
  }
  void mark_live() {
    for (auto& [b, e] : wanted_) e->live_at_peak = spans_[b].live;
  }

  const plan::Problem& problem_;
  const plan::Plan& plan_;
  std::unordered_map<plan::BufferId, Explanation*> wanted_;
  std::unordered_map<plan::BufferId, Span> spans_;
};

std::string sentence(const Explanation& e) {
  std::string out = fmt::format("{}: {}, {}", e.name, e.type, format_bytes(e.bytes));
  if (!e.op.empty()) out += fmt::format(", made by {}{}", e.op, e.loc.empty() ? "" : " at " + e.loc);
  out += ": ";
  const int again = e.made - e.updated - (e.resident ? 0 : 1);
  if (e.resident) {
    out += e.updated > 0 ? "always there, updated in place" : "always there";
  } else if (again > 0) {
    out += fmt::format("made {} time{} again{} ({} a step)", again, again > 1 ? "s" : "",
                       e.by.empty() ? "" : " by " + e.by, format_seconds(e.seconds_again));
    if (e.gone > 0)
      out += fmt::format("; its {} are free for {:.0f} % of the time between its first and last use",
                         format_bytes(e.bytes), 100 * e.gone);
  } else if (e.fetched > 0) {
    out += fmt::format("moved out and back {} time{}", e.fetched, e.fetched > 1 ? "s" : "");
    if (e.gone > 0)
      out += fmt::format("; its {} are free for {:.0f} % of the time between its first and last use",
                         format_bytes(e.bytes), 100 * e.gone);
  } else {
    out += e.uses > 0 ? "kept until its last use; costs nothing" : "a result, kept to the end";
  }
  if (e.in_place) out += "; shares storage with the value it is made from or gives it on in place";
  if (e.live_at_peak && !e.resident) out += "; live at the peak";
  return out;
}

}  // namespace

std::vector<Explanation> explain(const Posed& posed, const plan::Plan& plan, std::string_view pattern) {
  const Graph& g = posed.binding.graph;
  const std::vector<std::int32_t> maker = makers(g);
  std::vector<Explanation> found;
  std::vector<char> taken(posed.problem.buffers.size(), 0);
  for (std::size_t v = 0; v < g.values.size(); ++v) {
    const plan::BufferId b = posed.binding.buffer_of_value[v];
    if (b < 0 || taken[at(b)] || g.values[v].name.empty() || !names(pattern, g.values[v].name)) continue;
    taken[at(b)] = 1;
    const ValueId root = root_of(g, static_cast<ValueId>(v));
    Explanation e{.name = g.values[v].name,
                  .buffer = b,
                  .type = to_string(g.type(root)),
                  .bytes = posed.problem.size(b)};
    e.resident = posed.problem.buffers[at(b)].resident;
    if (const std::int32_t n = maker[at(root)]; n >= 0) {
      e.op = g.nodes[at(n)].op->name;
      e.loc = to_string(g.nodes[at(n)].loc);
    }
    found.push_back(std::move(e));
  }
  std::unordered_map<plan::BufferId, Explanation*> wanted;
  for (Explanation& e : found) wanted.emplace(e.buffer, &e);
  Walk(posed.problem, plan, std::move(wanted)).run();
  for (Explanation& e : found) e.text = sentence(e);
  return found;
}

Marginal what_more_buys(const plan::Problem& problem, const plan::Plan& plan, Bytes more, double time_limit) {
  Marginal marginal{.more = more};
  if (plan.budget < 0 || plan.seconds <= plan::floor_seconds(problem)) return marginal;
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
