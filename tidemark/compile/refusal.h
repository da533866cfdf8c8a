// Why a program does not fit its budget, in words: the least it needs, who meets there and on which line of the user's, and the
// cheapest change that would make it fit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/compile/compiled.h"

namespace tidemark {

// The task during which the most must be live in any plan: its operands and workspace beside the resident buffers.
struct Tightest {
  plan::TaskId task = -1;
  Bytes bytes = 0;                      // resident ones included
  std::vector<plan::BufferId> buffers;  // its own, largest first
};
TIDEMARK_API Tightest tightest_task(const plan::Problem& problem);

// For a plan that is infeasible or timed out.
TIDEMARK_API std::string refusal(const Posed& posed, const plan::Plan& plan, const CompileOptions& options);

// Cures that a refusal names where there are no tiers, as C++ takes them; a program that has no such option leaves them out.
inline constexpr std::string_view kTierHelps = "a tier to copy to (.tiers), or ", kTierForState = " or a tier for them";

}  // namespace tidemark
