// Why a program does not fit its budget, in words: the least it needs, who meets there and on which line of the user's, and the
// cheapest change that would make it fit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "tidemark/compile/compiled.h"

namespace tidemark {

// What is live together in every plan when some task first runs, as the certificate of plan/peak.h has it.
struct Meeting {
  plan::TaskId task = -1;               // -1: at the end, with every result live
  Bytes bytes = 0;                      // resident ones and the workspace included
  std::vector<plan::BufferId> buffers;  // beside the resident ones, largest first
};
TIDEMARK_API Meeting meeting(const plan::Problem& problem);
// "h (4.00 KiB), g (1.00 KiB) and 3 more".
std::string list_of(const plan::Problem& problem, std::span<const plan::BufferId> buffers);

// For a plan that is infeasible or timed out. `enough`: a budget for which there is a plan.
TIDEMARK_API std::string refusal(const Posed& posed, const plan::Plan& plan, const CompileOptions& options,
                                 std::optional<Bytes> enough = {});
// The least size from `bytes` on that format_bytes prints whole, so that what is read in a message can be typed in.
TIDEMARK_API Bytes rounded_up(Bytes bytes);

// Cures that a refusal names where there are no tiers, as C++ takes them; a program that has no such option leaves them out.
inline constexpr std::string_view kTierHelps = "a tier to copy to (.tiers), or ",
                                  kTierForState = " or a tier for them";

}  // namespace tidemark
