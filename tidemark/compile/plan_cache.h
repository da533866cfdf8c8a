// Plans kept on disk, one file each, under a key of everything that a plan and the bits under it depend on: the problem with its measured
// times, the budget, the device and its threads, the options of the solver, the library. A file that is damaged or does not fit is planned anew, never a failure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tidemark/plan/plan.h"

namespace tidemark {

// 16 hex digits.
TIDEMARK_API std::string text_key(std::string_view text);
// The same, of all that a plan depends on. `device` and `threads`: what runs it. `options`: whatever else the plan depends on, as text.
TIDEMARK_API std::string plan_key(const plan::Problem& problem, Bytes budget, std::string_view device,
                                  int threads, std::string_view options);

struct KeptPlan {
  plan::Plan plan;
  std::optional<plan::Plan> fallback;  // to start over with where a codec's slot is too small
};

class TIDEMARK_API PlanCache {
 public:
  // A folder; made with the first plan that is stored. "": keeps nothing.
  explicit PlanCache(std::string folder) : folder_(std::move(folder)) {}
  // One that passes check() against the problem and keeps the budget, as its fallback does; none otherwise.
  std::optional<KeptPlan> find(const std::string& key, const plan::Problem& problem, Bytes budget) const;
  // False where it cannot be written: the plan is as good without.
  bool store(const std::string& key, const plan::Problem& problem, const KeptPlan& plan) const;
  std::string path(const std::string& key) const { return folder_ + "/" + key + ".plan.json"; }

 private:
  std::string folder_;
};

}  // namespace tidemark
