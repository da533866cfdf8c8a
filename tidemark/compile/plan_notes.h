// What a plan file says of how it came about (Compiled::saved_plan), so that it is a plan of the same program again whatever tasks are
// measured to take by then.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/base/bytes.h"

namespace tidemark {

struct PlanNotes {
  std::optional<double> fraction;  // the budget that was asked for, and what it was in bytes
  Bytes bytes = 0;
  std::vector<double> seconds;  // Posed::maker_seconds
};

// Further fields for the object of a plan.
std::string write_notes(const PlanNotes& notes);
// What is not there, or no such thing, is left out.
PlanNotes read_notes(std::string_view plan_json);

}  // namespace tidemark
