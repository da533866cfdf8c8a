// Confirms the bounds that a plan states from the proof it carries, without solving anything and without
// sharing code with what made them. docs/proofs.md is the specification: the rules, why they hold, and the
// format. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/plan.h"

namespace tidemark::plan {

// "" if the proof confirms every bound that the plan states (seconds_bound to a relative 1e-9), else what is
// wrong. The problem must verify; the proof may be any text. Near linear in the sizes of both.
TIDEMARK_API std::string verify_proof(const Problem& problem, const Plan& plan);

}  // namespace tidemark::plan
