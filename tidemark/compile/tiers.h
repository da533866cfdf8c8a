// Tiers in a posed Problem: their rates and capacities, what the caller keeps there, and the gate that makes updates of state wait
// for everything that can fail. Between pose and solve.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "tidemark/compile/pose.h"
#include "tidemark/plan/plan.h"
#include "tidemark/store/tier_store.h"

namespace tidemark {

// Throws Error(usage) for a pattern of `holds` that no argument matches.
void add_tiers(Posed& posed, std::span<const TierSpec> tiers);

// "" or what a failure in the middle of the step would leave half done: an update that a codec which can overflow, or with `copies`
// a copy that can fail, follows.
std::string broken_atomicity(const Posed& posed, const plan::Plan& plan, std::span<const TierSpec> tiers, bool copies = true);

// Every update reads what a gate makes from all that updates are computed from: none runs before all of it is there.
void gate_updates(Posed& posed);

}  // namespace tidemark
