// What a plan's peak consists of, row by row: who is live at its fullest moment and what each of them is in the graph. Reads the
// posed problem and the plan; used by Compiled::memory, the program and the report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/compile/pose.h"
#include "tidemark/plan/plan.h"

namespace tidemark {

struct MemoryRow {
  std::string what;
  Bytes bytes = 0;
};

// What a buffer is, as the graph shows it. Parameters are state that more than updates read; other state serves updates alone
// (moments, step counts, running statistics). A gradient is what is made on the way from the loss to an update or a result.
enum class Role : std::uint8_t { parameter, other_state, input, output, activation, gradient, packed_weight };
TIDEMARK_API const char* name_of(Role role);
TIDEMARK_API std::vector<Role> roles(const Posed& posed);  // by buffer

// The rows add up to the plan's peak; the last one, "unexplained", is what they leave and is 0. The plan must pass check().
TIDEMARK_API std::vector<MemoryRow> memory_rows(const Posed& posed, const plan::Plan& plan);

}  // namespace tidemark
