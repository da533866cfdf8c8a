// Updates of state behind data that may be refused: an index out of range, a matrix that cannot be factored, a loop that does not end. Between
// pose and solve.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/compile/pose.h"

namespace tidemark {

// Every update waits until all data that can be looked at before it was accepted, so that an Error(data) leaves state as before the step.
// Indices are looked at by tasks of their own, as soon as they are there; for what else may be refused updates wait until it has run.
// Updates that are computed from accepted data alone, as those of gradients mostly are, wait for nothing more. What is made from updated state can only
// be refused behind the update.
void check_before_updates(Posed& posed);

}  // namespace tidemark
