// Every planner by name on problem files: overhead over running each task once, and CPU seconds.
// bench_planners FRACTION SECONDS FILE...
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/planners.h"

int main(int argc, char** argv) {
  using namespace tidemark;
  using namespace tidemark::plan;
  if (argc < 4) {
    std::fprintf(stderr, "usage: bench_planners FRACTION SECONDS FILE...\n");
    return 1;
  }
  for (int i = 3; i < argc; ++i) {
    const Problem problem = read_problem(read_file(argv[i]));
    const Bytes budget = budget_at(problem, std::atof(argv[1]));
    std::printf("%s: %zu tasks, budget %s, live bytes\n", problem.name.c_str(), problem.tasks.size(),
                format_bytes(budget).c_str());
    for (const Planner& planner : planners()) {
      const std::string name(planner.name);
      try {
        const Plan plan = run_planner(planner, problem,
                                      {.budget = budget, .time_limit = std::atof(argv[2]), .offsets = false});
        if (has_plan(plan)) {
          std::printf("  %-18s %8.3f %% over, peak %-10s %7.2f s\n", name.c_str(),
                      100 * (plan.seconds / floor_seconds(problem) - 1), format_bytes(plan.live_peak).c_str(),
                      plan.solve_seconds);
        } else {
          std::printf("  %-18s %s (%.2f s): %s\n", name.c_str(), name_of(plan.status), plan.solve_seconds,
                      plan.reason.c_str());
        }
      } catch (const Error& e) {
        std::printf("  %-18s %s\n", name.c_str(), e.what());
      }
      std::fflush(stdout);
    }
  }
}
