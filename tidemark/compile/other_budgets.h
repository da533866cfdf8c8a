// What compile() would plan of a program for other budgets than the one it has: the same passes, with its pins, makers, tiers and parts,
// and with loops fitted to each budget. Between plan_parts and what Compiled tells.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/compile/parts.h"

namespace tidemark {

class OtherBudgets {
 public:
  // `graph`: as traced. `pose_options`: their profile and tiers, with rates; plans of loops' steps are made anew.
  OtherBudgets(const Graph& graph, CompileOptions options, PoseOptions pose_options);

  // Whether every budget has the same problem, so that what is proven of it holds for all of them: neither areas of loops nor parts nor
  // copies that updates wait for are chosen for each.
  bool one_problem() const { return one_problem_; }
  // Throws as plan_parts does; a refusal names no changes.
  PlannedParts at(const Budget& memory, double time_limit) const;

  // The least budget that is found and for which compile has a plan when it is given by name; the plan is one of the problem that compile
  // poses for it. `running`: a plan that there is already; its budget is one, however short the time. `budget` is -1 where there is none.
  plan::SmallestPeak smallest(double time_limit, const plan::Plan& running) const;
  // Each for an equal part of the time, none slower than `running`, a plan that there is already. `measured`: its seconds are those of
  // runs, and so are of no use where others are put together from loops.
  std::vector<plan::FrontierPoint> frontier(int points, double time_limit, const plan::Plan& running,
                                            bool measured) const;
  Marginal what_more_buys(const plan::Plan& running, bool measured, Bytes more, double time_limit) const;

 private:
  PlannedParts by_name(PlannedParts least, double time_limit) const;

  const Graph& graph_;
  CompileOptions options_;
  PoseOptions pose_options_;
  bool one_problem_;
  double searches_ = 1;  // that a plan takes, each for the time limit
};

}  // namespace tidemark
