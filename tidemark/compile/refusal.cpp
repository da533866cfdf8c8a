// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/refusal.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tidemark/base/text.h"
#include "tidemark/compile/loops.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/peak.h"

namespace tidemark {
namespace {

constexpr std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// The user's line behind a task: its own, or where a derivative rule wrote it, that of what it reads.
std::string line_of(const Posed& posed, const Meeting& met) {
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
      at(met.task) < posed.binding.node_of_task.size() ? posed.binding.node_of_task[at(met.task)] : -1;
  if (own < 0) return "";
  if (!ours(g.nodes[at(own)].loc)) return to_string(g.nodes[at(own)].loc);
  const std::vector<std::int32_t> maker = makers(g);
  for (const plan::BufferId b : met.buffers) {
    const ValueId v =
        at(b) < posed.binding.value_of_buffer.size() ? posed.binding.value_of_buffer[at(b)] : -1;
    const std::int32_t n = v >= 0 ? maker[at(v)] : -1;
    if (n >= 0 && !ours(g.nodes[at(n)].loc)) return to_string(g.nodes[at(n)].loc);
  }
  return "";
}

std::string place(const Posed& posed, const Meeting& met) {
  const plan::Task& task = posed.problem.tasks[at(met.task)];
  const std::string line = line_of(posed, met);
  return (task.name.empty() ? task.kind : task.name) + (line.empty() ? "" : fmt::format(" ({})", line));
}

std::string who_meets(const Posed& posed, const Meeting& met) {
  const plan::Problem& problem = posed.problem;
  std::string rest;
  if (const Bytes resident = plan::resident_bytes(problem); resident > 0)
    rest += fmt::format(", beside {} of parameters, state and inputs", format_bytes(resident));
  if (met.task < 0)
    return fmt::format("its {} results are live together at the end: {}{}", met.buffers.size(),
                       list_of(problem, met.buffers), rest);
  if (const Bytes workspace = problem.tasks[at(met.task)].workspace; workspace > 0)
    rest = fmt::format(", {} of workspace", format_bytes(workspace)) + rest;
  return fmt::format("these {} tensors meet at {}: {}{}", met.buffers.size(), place(posed, met),
                     list_of(problem, met.buffers), rest);
}

std::string cure(const Posed& posed, const plan::Plan& plan, const Meeting& met,
                 const CompileOptions& options, std::optional<Bytes> enough) {
  const plan::Problem& problem = posed.problem;
  const Bytes resident = plan::resident_bytes(problem);
  if (resident > plan.budget) {
    return fmt::format(
        "what helps: {} are parameters, state and inputs: a smaller model, an optimizer with less state{}",
        format_bytes(resident), options.tiers.empty() ? kTierForState : std::string_view());
  }
  std::vector<std::string> helps;
  if (enough) {
    const bool waits = options.atomic && options.state > 0 &&
                       std::any_of(options.tiers.begin(), options.tiers.end(),
                                   [](const TierSpec& tier) { return tier.can_fail(); });
    helps.push_back(fmt::format(
        "a budget of {} ({:+.1f} %{})", format_bytes(*enough, plan.budget),
        100.0 * (static_cast<double>(*enough) / static_cast<double>(std::max<Bytes>(plan.budget, 1)) - 1),
        waits ? ", or more where updates wait for copies that can fail" : ""));
  } else if (plan.peak_bound && options.micro_batches.parts != 0 && !has_loops(posed.binding.graph)) {
    helps.push_back(
        fmt::format("a larger budget (none below {} can do)", format_bytes(rounded_up(*plan.peak_bound))));
  } else {
    helps.emplace_back("a larger budget");
  }
  // What one task needs by itself no copy makes smaller.
  const bool tier = options.tiers.empty() && met.bytes <= plan.budget;
  helps.push_back(fmt::format("{}a smaller batch", tier ? kTierHelps : std::string_view()));
  return "what helps: " + join(helps, ", or ");
}

}  // namespace

std::string list_of(const plan::Problem& problem, std::span<const plan::BufferId> buffers) {
  constexpr std::size_t kNamed = 4;
  std::string names;
  // Several of one name and size, as in every step of a loop that was written out, are told once.
  std::vector<std::pair<std::string, std::size_t>> told;
  for (const plan::BufferId b : buffers) {
    std::string text = fmt::format("{} ({})", problem.buffers[at(b)].name, format_bytes(problem.size(b)));
    const auto known = std::find_if(told.begin(), told.end(), [&](const auto& t) { return t.first == text; });
    if (known == told.end())
      told.emplace_back(std::move(text), 1);
    else
      ++known->second;
  }
  std::size_t named = 0;
  for (std::size_t i = 0; i < std::min(told.size(), kNamed); ++i) {
    const auto& [text, count] = told[i];
    names += (i > 0 ? ", " : "") + (count > 1 ? fmt::format("{} x ", count) : "") + text;
    named += count;
  }
  if (buffers.size() > named) names += fmt::format(" and {} more", buffers.size() - named);
  return names;
}

Meeting meeting(const plan::Problem& problem) {
  const plan::Values values(problem);
  const plan::PeakBound peak = plan::peak_bound(values);
  Meeting met{.task = peak.moment, .bytes = peak.bytes, .buffers = {}};
  const auto add = [&](const std::vector<plan::BufferId>& list) {
    for (const plan::BufferId b : list) {
      if (values.size[at(b)] > 0 && std::find(met.buffers.begin(), met.buffers.end(), b) == met.buffers.end())
        met.buffers.push_back(b);
    }
  };
  if (peak.moment < 0) add(values.outputs);
  add(peak.reads);
  add(peak.writes);
  add(peak.kept);
  std::stable_sort(met.buffers.begin(), met.buffers.end(),
                   [&](plan::BufferId a, plan::BufferId b) { return problem.size(a) > problem.size(b); });
  return met;
}

Bytes rounded_up(Bytes bytes) {
  double unit = 1;
  while (static_cast<double>(bytes) >= unit * 1024 && unit < 0x1p50) unit *= 1024;
  if (unit == 1) return bytes;
  // Two decimals; a hundredth of a KiB is no whole number of bytes.
  const double hundredths = std::ceil(static_cast<double>(bytes) * 100 / unit);
  return static_cast<Bytes>(std::floor(hundredths * unit / 100));
}

std::string refusal(const Posed& posed, const plan::Plan& plan, const CompileOptions& options,
                    std::optional<Bytes> enough) {
  const Meeting met = meeting(posed.problem);
  const bool proven = plan.peak_bound && *plan.peak_bound > plan.budget;
  const Bytes least = proven ? *plan.peak_bound : plan.smallest_peak.value_or(plan.budget);
  std::string out =
      fmt::format("[compile] {} does not fit {}", posed.problem.name, format_bytes(plan.budget, least));
  // Other areas for loops are other problems.
  const std::string_view here =
      has_loops(posed.binding.graph) ? " with the areas that its loops have here" : "";
  if (least != plan.budget)
    out += fmt::format("; {} {}{}", proven ? "needs at least" : "the least found in the time given is",
                       format_bytes(rounded_up(least), plan.budget), proven ? here : "");
  if (!plan.reason.empty() && !proven) out += " (" + plan.reason + ")";
  // What is proven of every plan; where the search only found none, that is less than what it found.
  const std::string meets = who_meets(posed, met);
  out += proven ? ": " + meets
                : fmt::format("; no plan{} is below {}: {}", here, format_bytes(met.bytes), meets);
  const std::string change = cure(posed, plan, met, options, enough);
  return change.empty() ? out : out + "; " + change;
}

}  // namespace tidemark
