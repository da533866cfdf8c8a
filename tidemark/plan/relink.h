// Two plans of one problem differ in some stretches of time and agree in others: what one does better in a stretch is carried over to the
// other (path relinking: Glover 1996). Between the search's rounds; knows sequences of runs alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/model.h"

namespace tidemark::plan {

class Relink {
 public:
  // The stretches in which `other` differs from `base`: between the first runs of required tasks in the order of `base`. Two of them that
  // are next to one another count as one.
  Relink(const Model& model, const std::vector<TaskId>& base, const std::vector<TaskId>& other);

  std::size_t stretches() const { return stretches_.size(); }
  // Seconds that taking over [first, last) adds, before anything is repaired or becomes superfluous.
  double seconds_more(std::size_t first, std::size_t last) const;
  // `base` with the runs of `other` in the stretches [first, last); whether it is a plan is for the caller to see.
  std::vector<TaskId> blend(std::size_t first, std::size_t last) const;

 private:
  // A sequence cut at the first runs of required tasks.
  struct Stages {
    std::vector<TaskId> first_runs;
    std::vector<std::vector<TaskId>>
        before;  // by task: the other runs since the first run before its own; behind the last: at the end
  };
  static Stages stages_of(const Model& model, const std::vector<TaskId>& runs);

  const Model* model_;
  Stages base_, other_;
  std::vector<std::pair<std::size_t, std::size_t>> stretches_;  // [first, last) of base_.first_runs
};

}  // namespace tidemark::plan
