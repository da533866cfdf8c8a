// Random problems with every feature of docs/format.md, small enough for exhaustive search or as large as
// asked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/base/random.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/problem.h"

namespace tidemark::plan {

struct RandomProblem {
  int tasks = 12;  // required ones; optional ones come on top
  int residents = 2;
  double mirrored =
      0.6;  // how often a task of the second half reads what its mirror image wrote, as a backward pass does
  bool workspace = true, align = true, once = true, in_place = true, versions = true, makers = true,
       lossy = true, tiers = true;
};

Problem random_problem(std::uint64_t seed, const RandomProblem& shape = {});
// Each but lossy and tiers on or off.
void choose_features(Rng& rng, std::int64_t off_one_in, RandomProblem& shape);
// Each feature on or off by the seed, the number of tasks in [2, most].
Problem random_problem_of_any_kind(std::uint64_t seed, int most);

// There and back again beside a tier: each task of the second half reads what its mirror image wrote, and some of the first run only once.
struct Mirrored {
  int half = 2;             // tasks
  std::int64_t rates = 40;  // of the link: up to so many bytes a second more than 4
  bool ends_there = false;  // some of what is made ends in the tier
};
Problem mirrored_problem(Rng& rng, const Mirrored& shape);

}  // namespace tidemark::plan
