// A problem with its plan and all that is told of it: where explain, show, plan and report begin.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/cli/problem_source.h"
#include "tidemark/cli/solve_options.h"
#include "tidemark/report/explain.h"

namespace tidemark::cli {

// A problem from a file or a model, with labels where it is a model.
struct Asked {
  plan::Problem problem;
  Labels labels;
};
Asked ask(const ProblemSource& source);

struct Telling {
  Telling(const plan::Problem& problem, const plan::Plan& plan, const Labels& labels)
      : story(tell(problem, plan)),
        fates(tidemark::fates(problem, story)),
        told{problem, plan, story, fates, labels} {}
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;
  Story story;
  std::vector<Fate> fates;
  Told told;
};

// Ctrl-C while planning: says whether there is a plan, and returns the exit code.
int interrupted_planning(bool answered);

plan::Plan read_plan_file(const plan::Problem& problem, const std::string& path);

// The plan of a verb that shows one: read from a file and checked, or made now for a budget.
class PlanSource {
 public:
  void declare(Args& args);
  // Throws Error(infeasible) where there is none; no steps where Ctrl-C came before the first.
  plan::Plan get(const plan::Problem& problem, const char* verb) const;

 private:
  std::string plan_, budget_;
  SolveOptions options_;
};

}  // namespace tidemark::cli
