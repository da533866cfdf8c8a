// Loops that do what a part of another one does: derivatives run a loop once more to have its states, or beside its tangents.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/graph.h"

namespace tidemark {

// A scan or while_loop whose every step is part of a step of another one makes way for it, which gives its results too.
Graph join_loops(Graph graph);

}  // namespace tidemark
