// Tiers in a posed Problem: their rates and capacities, what the caller keeps there, and the gate that makes updates of state, and
// what else may not happen twice, wait for everything that can fail. Between pose and solve.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "tidemark/compile/pose.h"
#include "tidemark/plan/plan.h"
#include "tidemark/store/tier_store.h"

namespace tidemark {

// Throws Error(usage) for a pattern of `holds` that no argument matches.
void add_tiers(Posed& posed, std::span<const TierSpec> tiers);

// "" or what a failure in the middle of the step would leave half done or make twice: an update that a codec which can overflow, or
// with `copies` a copy that can fail, follows; and what may not run twice (an effect, other bits each time) in front of such a codec,
// whose step starts over.
std::string broken_atomicity(const Posed& posed, const plan::Plan& plan, std::span<const TierSpec> tiers, bool copies = true);

// Every update reads what a gate makes from all that updates are computed from: none runs before all of it is there. Where codecs on
// offer can overflow, what may not run twice waits too, for the results that do not depend on it as well.
void gate_updates(Posed& posed);

// Codecs that can overflow go from the list: all of them, or those that only run behind an update or what may not run twice, since
// they are made from its results.
void leave_overflowing(Posed& posed);
void leave_overflowing_behind(Posed& posed);

}  // namespace tidemark
