// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "tidemark/base/error.h"

namespace tidemark::plan {
namespace {

struct Counts {
  std::vector<int> runs, moves;
  int in_place = 0;
  Counts(const Problem& problem, const Plan& plan)
      : runs(problem.tasks.size(), 0), moves(problem.buffers.size(), 0) {
    for (const Step& s : plan.steps) {
      const std::size_t places = s.kind == Step::Kind::run ? runs.size() : moves.size();
      if (s.id < 0 || static_cast<std::size_t>(s.id) >= places)
        fail(Error::Kind::usage, "[diff] a step of {} vs {} in the problem; both have to be plans of it",
             s.id, places);
      if (s.kind == Step::Kind::run) {
        ++runs[static_cast<std::size_t>(s.id)];
        in_place += static_cast<int>(s.in_place.size());
      }
      if (s.kind == Step::Kind::evict || s.kind == Step::Kind::fetch) ++moves[static_cast<std::size_t>(s.id)];
    }
  }
};

bool same(const Plan& a, const Plan& b) {
  return std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(),
                    [](const Step& x, const Step& y) {
                      return x.kind == y.kind && x.id == y.id && x.tier == y.tier && x.in_place == y.in_place;
                    });
}

std::string name_of_task(const Problem& problem, TaskId t) {
  const Task& task = problem.tasks[static_cast<std::size_t>(t)];
  return task.name.empty() ? fmt::format("task {}", t) : task.name;
}

}  // namespace

PlanDiff diff(const Problem& problem, const Plan& a, const Plan& b) {
  const Counts ca(problem, a), cb(problem, b);
  PlanDiff d{.in_place_a = ca.in_place,
             .in_place_b = cb.in_place,
             .seconds_a = a.seconds,
             .seconds_b = b.seconds,
             .peak_a = a.peak,
             .peak_b = b.peak,
             .same_steps = same(a, b)};
  for (std::size_t t = 0; t < ca.runs.size(); ++t) {
    if (ca.runs[t] != cb.runs[t]) d.runs.push_back({static_cast<TaskId>(t), ca.runs[t], cb.runs[t]});
  }
  for (std::size_t i = 0; i < ca.moves.size(); ++i) {
    if (ca.moves[i] != cb.moves[i]) d.moves.push_back({static_cast<BufferId>(i), ca.moves[i], cb.moves[i]});
  }
  const auto dear = [&](const PlanDiff::Runs& r) {
    return std::abs(r.a - r.b) * problem.tasks[static_cast<std::size_t>(r.task)].seconds;
  };
  std::stable_sort(d.runs.begin(), d.runs.end(),
                   [&](const auto& x, const auto& y) { return dear(x) > dear(y); });
  std::stable_sort(d.moves.begin(), d.moves.end(), [&](const auto& x, const auto& y) {
    return problem.size(x.buffer) > problem.size(y.buffer);
  });
  return d;
}

std::string to_string(const Problem& problem, const PlanDiff& d, int rows) {
  std::string out =
      fmt::format("peak     {} -> {} ({:+d} bytes)\nseconds  {:.6g} -> {:.6g} ({:+.3f} %)\n",
                  format_bytes(d.peak_a), format_bytes(d.peak_b), d.peak_b - d.peak_a, d.seconds_a,
                  d.seconds_b, d.seconds_a > 0 ? 100 * (d.seconds_b / d.seconds_a - 1) : 0.0);
  if (d.same_steps) return out + "the same steps\n";
  if (d.in_place_a != d.in_place_b) out += fmt::format("in place {} -> {}\n", d.in_place_a, d.in_place_b);
  int left = rows;
  for (const PlanDiff::Runs& r : d.runs) {
    if (left-- == 0) break;
    out += fmt::format("runs     {} -> {}  {} ({:.3g} s each)\n", r.a, r.b, name_of_task(problem, r.task),
                       problem.tasks[static_cast<std::size_t>(r.task)].seconds);
  }
  for (const PlanDiff::Moves& m : d.moves) {
    if (left-- <= 0) break;
    out += fmt::format("copies   {} -> {}  {} ({})\n", m.a, m.b,
                       problem.buffers[static_cast<std::size_t>(m.buffer)].name,
                       format_bytes(problem.size(m.buffer)));
  }
  const auto all = static_cast<std::int64_t>(d.runs.size() + d.moves.size());
  if (all > rows) out += fmt::format("and {} more\n", all - rows);
  if (all == 0) out += "the same runs and copies in another order\n";
  return out;
}

}  // namespace tidemark::plan
