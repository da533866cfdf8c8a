// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/budget.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

Bytes resident_bytes(const Problem& problem) {
  Bytes total = 0;
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    if (problem.buffers[b].resident) total += problem.size(static_cast<BufferId>(b));
  }
  return total;
}

Bytes store_all_live_peak(const Problem& problem) {
  constexpr TaskId kNever = -1, kToTheEnd = std::numeric_limits<TaskId>::max();
  std::vector<TaskId> last_use(problem.buffers.size(), kNever);
  std::vector<bool> live(problem.buffers.size(), false);
  Bytes now = 0;
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    if (problem.tasks[t].optional) continue;
    for (const auto* list : {&problem.tasks[t].reads, &problem.tasks[t].writes}) {
      for (const BufferId b : *list) last_use[at(b)] = static_cast<TaskId>(t);
    }
  }
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    if (!problem.buffers[b].resident && problem.buffers[b].start < 0) continue;
    live[b] = true;
    now += problem.size(static_cast<BufferId>(b));
    last_use[b] = kToTheEnd;
  }
  for (const BufferId b : problem.outputs) last_use[at(b)] = kToTheEnd;
  Bytes most = now;
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    const Task& task = problem.tasks[t];
    if (task.optional) continue;
    for (const BufferId b : task.writes) {
      if (live[at(b)]) continue;
      live[at(b)] = true;
      now += problem.size(b);
    }
    most = std::max(most, now + round_up(task.workspace, problem.align));
    for (const auto* list : {&task.reads, &task.writes}) {
      for (const BufferId b : *list) {
        if (!live[at(b)] || last_use[at(b)] != static_cast<TaskId>(t)) continue;
        live[at(b)] = false;
        now -= problem.size(b);
      }
    }
  }
  return most;
}

double floor_seconds(const Problem& problem) {
  std::vector<double> cheapest(problem.tasks.size());
  for (std::size_t t = 0; t < problem.tasks.size(); ++t)
    cheapest[t] = problem.tasks[t].optional ? 0 : problem.tasks[t].seconds;
  for (const Task& task : problem.tasks) {
    if (task.instead_of >= 0)
      cheapest[at(task.instead_of)] = std::min(cheapest[at(task.instead_of)], task.seconds);
  }
  double total = 0;
  for (const double seconds : cheapest) total += seconds;
  return total;
}

Bytes budget_at(const Problem& problem, double fraction) {
  const Bytes resident = resident_bytes(problem);
  const auto beyond = static_cast<long double>(store_all_live_peak(problem) - resident);
  return resident + static_cast<Bytes>(std::floor(static_cast<long double>(fraction) * beyond + 1e-6L));
}

Bytes parse_budget(const Problem& problem, std::string_view text) {
  const std::string_view trimmed = trim(text);
  if (trimmed.empty() || trimmed.back() != '%') {
    const std::optional<Bytes> bytes = bytes_of(trimmed);
    if (!bytes) fail(Error::Kind::usage, "[budget] '{}' is no budget; write for example 8GiB or 60%", text);
    return *bytes;
  }
  const std::string_view number = trimmed.substr(0, trimmed.size() - 1);
  double percent = 0;
  const auto [rest, error] = std::from_chars(number.data(), number.data() + number.size(), percent);
  if (error != std::errc() || rest != number.data() + number.size() || !(percent >= 0 && percent <= 1000)) {
    fail(Error::Kind::usage, "[budget] '{}' is not between 0% and 1000%; write for example 60% or 8GiB",
         text);
  }
  return budget_at(problem, percent / 100);
}

}  // namespace tidemark::plan
