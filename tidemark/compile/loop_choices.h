// What was decided for the loops of a program, as text beside its plan: with it the same program is the same Problem again, without
// the timed search of choose_loops. Between that and pose.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tidemark/compile/loop_parts.h"
#include "tidemark/compile/pose.h"

namespace tidemark {

// How a loop and its adjoint keep states and tapes. Plain data, as in the attributes of their nodes.
struct LoopChoice {
  Bytes area = 0;
  Bytes tape = 0;                      // of a step; 0: none is kept
  std::int64_t tier = -1, period = 0;  // of states there, or:
  schedule::TierSplits splits{};
  Bytes extra = -1;                                     // where they lie in the area
  std::int64_t places = 0, tier_places = 0, start = 0;  // of loops of unknown length
};
// Replaces the nodes of a pair by `saving` and `adjoint`, with these attributes. `store`: the number of its store, where it has a tier.
void set_choice(Graph& g, const PairNodes& pair, const Node& saving, const Node& adjoint,
                const LoopChoice& choice, std::int64_t store);
void set_area(Graph& g, const PairNodes& pair, Bytes bytes);
void set_inner(Graph& g, Bytes budget);
// Once every loop has its regions.
void note_inner_tiers(Graph& g, const PoseOptions& options);

// A JSON object: the choices of the loops of a graph as it was posed, and the plans of their steps; "" where it has no loops.
std::string loop_choices(const Graph& graph, const PoseOptions& options);
// The same loops before choose_loops, with what was chosen then; the plans of steps are left to options.regions. Nothing where it is of other loops.
std::optional<Graph> with_loop_choices(Graph graph, std::string_view json, const PoseOptions& options);
// Of the field x_loops of a plan file; "" where it has none.
std::string loop_choices_in(std::string_view plan_json);

}  // namespace tidemark
