// What a plan file says of how it came about (Compiled::saved_plan), so that it is a plan of the same program again whatever tasks are
// measured to take by then.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/plan/plan.h"

namespace tidemark {

struct PlanNotes {
  std::optional<double> fraction;  // the budget that was asked for, and what it was in bytes
  Bytes bytes = 0;
  std::vector<double> seconds;  // Posed::maker_seconds
  int parts = 1;                // that the batch is worked through in
  std::string fallback;         // another plan, to start over with where a codec's slot is too small
};

// A plan file, with notes as further fields of its object.
std::string with_notes(std::string plan_json, const PlanNotes& notes);
// What is not there, or no such thing, is left out.
PlanNotes read_notes(std::string_view plan_json);

// As a plan of another problem or budget than it was made for: nothing that was proven then holds for it.
void forget_proofs(plan::Plan& plan);

// Figures that a plan file may leave out; `truth`: of carrying it out.
void add_figures(const plan::Problem& problem, const plan::Replay& truth, plan::Plan& plan);

}  // namespace tidemark
