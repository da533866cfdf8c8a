// SPDX-License-Identifier: Apache-2.0
#include "tidemark/report/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "tidemark/base/text.h"

namespace tidemark {
namespace {

using plan::BufferId;
using plan::Step;

const std::string& task_at(const Told& told, std::int32_t run) {
  const plan::Task& task =
      told.problem.tasks[static_cast<std::size_t>(told.story.runs[static_cast<std::size_t>(run)].task)];
  return task.name.empty() ? task.kind : task.name;
}

std::string over_budget(const Told& told, Bytes live) {
  if (told.plan.budget < 0) return "";
  return live > told.plan.budget
             ? fmt::format(", {} over the budget", format_bytes(live - told.plan.budget))
             : fmt::format(", {} below the budget", format_bytes(told.plan.budget - live));
}

}  // namespace

std::string in_short(const Told& told, BufferId buffer) {
  const Fate& f = told.fates[static_cast<std::size_t>(buffer)];
  if (f.kind == Fate::Kind::made_again)
    return fmt::format("made again {} × ({})", f.makes - 1, format_seconds(f.spent));
  if (f.kind == Fate::Kind::kept) return fmt::format("kept over {} runs", f.gap_to - f.gap_from - 1);
  return name_of(f.kind);
}

std::vector<std::pair<std::string, std::string>> explain(const Told& told, BufferId buffer) {
  const plan::Buffer& b = told.problem.buffers[static_cast<std::size_t>(buffer)];
  const Fate& f = told.fates[static_cast<std::size_t>(buffer)];
  std::vector<std::pair<std::string, std::string>> rows;
  rows.emplace_back("value", fmt::format("{} (buffer {})", b.name.empty() ? "(no name)" : b.name, buffer));
  std::string what = format_bytes(told.problem.size(buffer));
  if (!told.labels.type_of(buffer).empty()) what = told.labels.type_of(buffer) + ", " + what;
  rows.emplace_back("what", what);
  for (std::size_t t = 0; t < told.problem.tasks.size(); ++t) {
    const plan::Task& task = told.problem.tasks[t];
    if (task.optional || std::find(task.writes.begin(), task.writes.end(), buffer) == task.writes.end())
      continue;
    const std::string& line = told.labels.line_of(buffer);
    rows.emplace_back(b.resident ? "updated by" : "made by",
                      fmt::format("{} in {}{}", task.kind.empty() ? task.name : task.kind,
                                  format_seconds(task.seconds), line.empty() ? "" : " (" + line + ")"));
    break;
  }
  rows.emplace_back("done", fmt::format("{}; read by {} runs", in_short(told, buffer), f.uses));
  if (f.gap_from >= 0) {
    rows.emplace_back("not needed",
                      fmt::format("between {} (run {}) and {} (run {})", task_at(told, f.gap_from),
                                  f.gap_from, task_at(told, f.gap_to), f.gap_to));
  }
  if (f.live_if_kept >= 0) {
    rows.emplace_back("cost", fmt::format("{}, {:.3f} % of the plan's time", format_seconds(f.spent),
                                          told.plan.seconds > 0 ? 100 * f.spent / told.plan.seconds : 0.0));
    rows.emplace_back("saved", fmt::format("{} over {} runs", format_bytes(told.problem.size(buffer)),
                                           f.gap_to - f.gap_from - 1));
    rows.emplace_back("otherwise", fmt::format("kept, it would put {} live{}", format_bytes(f.live_if_kept),
                                               over_budget(told, f.live_if_kept)));
  } else if (f.gap_from >= 0) {
    rows.emplace_back("cost", fmt::format("{} over {} runs", format_bytes(told.problem.size(buffer)),
                                          f.gap_to - f.gap_from - 1));
    rows.emplace_back(
        "otherwise",
        f.remake_seconds < 0
            ? "it cannot be made again: what makes it runs once, or reads what is updated before"
            : fmt::format("making it again would take at least {}, {:.3f} % more time",
                          format_seconds(f.remake_seconds),
                          told.plan.seconds > 0 ? 100 * f.remake_seconds / told.plan.seconds : 0.0));
  } else if (!b.resident) {
    rows.emplace_back("otherwise", "nothing to choose: it goes as soon as it is used");
  }
  return rows;
}

std::string program_text(const Told& told) {
  std::unordered_map<std::int64_t, Bytes> offsets;
  const auto key = [](std::size_t step, BufferId b) {
    return (static_cast<std::int64_t>(step) << 32) ^ static_cast<std::uint32_t>(b);
  };
  for (const plan::Placement& p : told.plan.placements)
    offsets.emplace(key(static_cast<std::size_t>(p.step), p.buffer), p.offset);
  const auto name = [&](BufferId b) {
    const std::string& n = told.problem.buffers[static_cast<std::size_t>(b)].name;
    return n.empty() ? fmt::format("b{}", b) : n;
  };
  const auto placed = [&](std::size_t step, BufferId b) {
    std::string text = name(b);
    if (!told.labels.type_of(b).empty() && !told.problem.buffers[static_cast<std::size_t>(b)].resident)
      text += " " + told.labels.type_of(b);
    const auto found = offsets.find(key(step, b));
    return found == offsets.end() ? text : text + fmt::format(" @{}", found->second);
  };
  std::string out = fmt::format("program {} {{  # budget {}, peak {}, {}\n", told.problem.name,
                                told.plan.budget < 0 ? "none" : format_bytes(told.plan.budget),
                                format_bytes(told.plan.peak), format_seconds(told.plan.seconds));
  std::size_t run = 0;
  for (std::size_t s = 0; s < told.plan.steps.size(); ++s) {
    const Step& step = told.plan.steps[s];
    if (step.kind != Step::Kind::run) {
      out += fmt::format("  {} {}", plan::name_of(step.kind), name(step.id));
      if (step.tier >= 0) out += " " + told.problem.tiers[static_cast<std::size_t>(step.tier)].name;
      out += '\n';
      continue;
    }
    const plan::Task& task = told.problem.tasks[static_cast<std::size_t>(step.id)];
    const Run& r = told.story.runs[run++];
    std::vector<std::string> writes, reads;
    for (const BufferId b : task.writes) writes.push_back(placed(s, b));
    for (const BufferId b : task.reads) reads.push_back(name(b));
    out += fmt::format("  {} = {}({})", fmt::join(writes, ", "), task.kind.empty() ? task.name : task.kind,
                       fmt::join(reads, ", "));
    if (r.again) out += " again";
    if (!step.in_place.empty()) out += " in place";
    if (task.workspace > 0) out += fmt::format(" workspace {}", format_bytes(task.workspace));
    out += fmt::format("  # {}, {} live", format_seconds(task.seconds), format_bytes(r.live));
    const std::string& line = task.writes.empty() ? std::string() : told.labels.line_of(task.writes[0]);
    out += line.empty() ? "\n" : ", " + line + "\n";
  }
  return out + "}\n";
}

}  // namespace tidemark
