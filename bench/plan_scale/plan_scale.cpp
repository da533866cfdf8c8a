// How the time to a plan near the bound grows with the number of tasks: generated graphs at half of what keeping everything takes; and what bounds alone prove with
// little time of graphs whose cuts take long. `bench_plan_scale [most tasks]`. Seconds are process CPU.
// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

#include "generate.h"
#include "tidemark/plan/bound.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/solve.h"

using namespace tidemark;
using namespace tidemark::plan;

namespace {

void row(const Problem& problem, double target_seconds) {
  Options options;
  options.budget = budget_at(problem, 0.5);
  options.time_limit = target_seconds;
  options.offsets = false;
  options.target_gap = 0.01;
  const double begin = cpu_seconds();
  const Plan plan = solve(problem, options);
  const double took = cpu_seconds() - begin;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double floor = floor_seconds(problem), bound = plan.seconds_bound.value_or(floor);
  std::printf("%-15s %8zu  %-10s ", problem.name.c_str(), problem.tasks.size(), name_of(plan.status));
  if (has_plan(plan)) {
    std::printf("over floor %7.3f %%  bound %7.3f %%  gap %6.3f %%", 100 * (plan.seconds / floor - 1),
                100 * (bound / floor - 1), 100 * (plan.seconds / bound - 1));
  } else {
    std::printf("over floor    none    bound %7.3f %%  gap   none  ", 100 * (bound / floor - 1));
  }
  std::printf("  %7.2f s (target %g)  %6.0f MiB\n", took, target_seconds,
              static_cast<double>(usage.ru_maxrss) / 1024);
  std::fflush(stdout);
}

// Over gaps alone, for which no cut is needed; then with limits that leave time for some cuts.
void bounds(const Problem& problem) {
  const Bytes budget = budget_at(problem, 0.5);
  const auto tasks = static_cast<double>(problem.tasks.size());
  std::printf("%-15s %8zu  bound:", problem.name.c_str(), problem.tasks.size());
  for (const double each : {0.0, 2e-6, 30e-6}) {
    BoundOptions options{.budget = budget, .time_limit = each * tasks, .peak = false};
    if (each == 0) {
      options.time_limit = 10e-6 * tasks;
      options.effort = 0;
    }
    const double begin = cpu_seconds();
    const BoundResult r = bound(problem, options);
    std::printf("  %s %7.3f %% in %.2f s", each == 0 ? "over gaps" : "cuts",
                100 * (r.seconds / r.floor_seconds - 1), cpu_seconds() - begin);
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t most = argc > 1 ? std::atoll(argv[1]) : 1000000;
  struct Size {
    std::int64_t tasks;
    double seconds;
  };
  for (const Size& size : {Size{1000, 0.1}, Size{10000, 1}, Size{100000, 5}, Size{1000000, 60}}) {
    if (size.tasks > most) break;
    row(bench::gpt_like(size.tasks), size.seconds);
    row(bench::convolutional(size.tasks), size.seconds);
    row(bench::u_shaped(size.tasks), size.seconds);
    row(bench::random_layered(size.tasks), size.seconds);
    bounds(bench::random_layered(size.tasks));
  }
}
