// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/refusal.h"

#include <algorithm>
#include <set>

#include "tidemark/base/text.h"
#include "tidemark/plan/budget.h"

namespace tidemark {
namespace {

constexpr std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// The user's line behind a task: its own, or where a derivative rule wrote it, that of what it reads.
std::string line_of(const Posed& posed, const Tightest& tight) {
  const Graph& g = posed.binding.graph;
  const auto ours = [](const Loc& loc) {
    const std::string_view file = loc.file;
    for (const char* folder :
         {"tidemark/front/", "tidemark/grad/", "tidemark/ops/", "tidemark/ir/", "tidemark/compile/"}) {
      if (file.find(folder) != std::string_view::npos) return true;
    }
    return file.empty();
  };
  const std::int32_t own =
      at(tight.task) < posed.binding.node_of_task.size() ? posed.binding.node_of_task[at(tight.task)] : -1;
  if (own < 0) return "";
  if (!ours(g.nodes[at(own)].loc)) return to_string(g.nodes[at(own)].loc);
  const std::vector<std::int32_t> maker = makers(g);
  for (const plan::BufferId b : tight.buffers) {
    const ValueId v =
        at(b) < posed.binding.value_of_buffer.size() ? posed.binding.value_of_buffer[at(b)] : -1;
    const std::int32_t n = v >= 0 ? maker[at(v)] : -1;
    if (n >= 0 && !ours(g.nodes[at(n)].loc)) return to_string(g.nodes[at(n)].loc);
  }
  return "";
}

std::string place(const Posed& posed, const Tightest& tight) {
  const plan::Task& task = posed.problem.tasks[at(tight.task)];
  const std::string line = line_of(posed, tight);
  return (task.name.empty() ? task.kind : task.name) + (line.empty() ? "" : fmt::format(" ({})", line));
}

std::string who_meets(const Posed& posed, const Tightest& tight) {
  if (tight.task < 0) return "";
  std::string names;
  constexpr std::size_t kNamed = 4;
  for (std::size_t i = 0; i < std::min(tight.buffers.size(), kNamed); ++i) {
    const plan::BufferId b = tight.buffers[i];
    names += fmt::format("{}{} ({})", i > 0 ? ", " : "", posed.problem.buffers[at(b)].name,
                         format_bytes(posed.problem.size(b)));
  }
  if (tight.buffers.size() > kNamed) names += fmt::format(" and {} more", tight.buffers.size() - kNamed);
  const Bytes workspace = posed.problem.tasks[at(tight.task)].workspace;
  if (workspace > 0) names += fmt::format(", {} of workspace", format_bytes(workspace));
  return fmt::format("these {} tensors meet at {}: {}", tight.buffers.size(), place(posed, tight), names);
}

std::string cure(const Posed& posed, const plan::Plan& plan, const Tightest& tight,
                 const CompileOptions& options) {
  const plan::Problem& problem = posed.problem;
  const Bytes resident = plan::resident_bytes(problem);
  if (resident > plan.budget) {
    return fmt::format(
        "what helps: {} are parameters, state and inputs: a smaller model, an optimizer with less state{}",
        format_bytes(resident), options.tiers.empty() ? kTierForState : std::string_view());
  }
  std::vector<std::string> helps;
  if (plan.smallest_peak) {
    helps.push_back(fmt::format("a budget of {} ({:+.1f} %)", format_bytes(*plan.smallest_peak),
                                100.0 * (static_cast<double>(*plan.smallest_peak) /
                                             static_cast<double>(std::max<Bytes>(plan.budget, 1)) -
                                         1)));
  } else if (plan.peak_bound) {
    helps.push_back(fmt::format("a larger budget (none below {} can do)", format_bytes(*plan.peak_bound)));
  }
  // What one task needs by itself no copy makes smaller.
  const bool tier = options.tiers.empty() && tight.bytes <= plan.budget;
  helps.push_back(fmt::format("{}a smaller batch", tier ? kTierHelps : std::string_view()));
  return "what helps: " + join(helps, ", or ");
}

}  // namespace

Tightest tightest_task(const plan::Problem& problem) {
  const Bytes resident = plan::resident_bytes(problem);
  Tightest best;
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    const plan::Task& task = problem.tasks[t];
    if (task.optional) continue;
    std::set<plan::BufferId> own;
    for (const auto* list : {&task.reads, &task.writes}) {
      for (const plan::BufferId b : *list) {
        if (!problem.buffers[at(b)].resident) own.insert(b);
      }
    }
    Bytes bytes = resident + task.workspace;
    for (const plan::BufferId b : own) bytes += problem.size(b);
    // A write that takes over a read's storage needs the larger of the two; one pair for each of them.
    std::set<plan::BufferId> paired;
    for (const auto& [from, to] : task.in_place) {
      if (paired.count(from) > 0 || paired.count(to) > 0) continue;
      paired.insert(from);
      paired.insert(to);
      bytes -= std::min(problem.size(from), problem.size(to));
    }
    if (bytes > best.bytes) {
      best = {.task = static_cast<plan::TaskId>(t), .bytes = bytes, .buffers = {own.begin(), own.end()}};
    }
  }
  std::stable_sort(best.buffers.begin(), best.buffers.end(),
                   [&](plan::BufferId a, plan::BufferId b) { return problem.size(a) > problem.size(b); });
  return best;
}

std::string refusal(const Posed& posed, const plan::Plan& plan, const CompileOptions& options) {
  const Tightest tight = tightest_task(posed.problem);
  const bool proven = plan.peak_bound && *plan.peak_bound > plan.budget;
  const Bytes least = proven ? *plan.peak_bound : plan.smallest_peak.value_or(plan.budget);
  std::string out =
      fmt::format("[compile] {} does not fit {}", posed.problem.name, format_bytes(plan.budget, least));
  if (least != plan.budget)
    out += fmt::format("; {} {}", proven ? "needs at least" : "the least found in the time given is",
                       format_bytes(least, plan.budget));
  const std::string meets = who_meets(posed, tight);
  if (!meets.empty()) out += ": " + meets;
  if (!plan.reason.empty() && !proven) out += " (" + plan.reason + ")";
  const std::string change = cure(posed, plan, tight, options);
  return change.empty() ? out : out + "; " + change;
}

}  // namespace tidemark
