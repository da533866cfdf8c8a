// Micro-batches: a pass that writes a program over a batch as the same program over equal parts of it, one after the other, with what
// they add to sums (gradients, losses) added up. In front of optimise; only with the user's word, since sums are then taken in
// another order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "tidemark/ir/graph.h"

namespace tidemark {

// Positions among graph.inputs of what is cut along its first axis. The batch is as long as the last argument that has an axis and is
// no key of a random op (two i64); with it come the arguments in front of it, without a gap, of that length. State, and what lies
// behind the first `arguments` inputs, is none. Empty: no batch.
TIDEMARK_API std::vector<int> batch_inputs(const Graph& graph, int arguments = -1);
// Those of `named` that are no keys. Throws Error(usage) where one is state or not as long as the others.
TIDEMARK_API std::vector<int> batch_inputs(const Graph& graph, std::span<const int> named);
// Their length; 0 where there is none.
TIDEMARK_API std::int64_t batch_size(const Graph& graph, std::span<const int> batch);

// The program in `parts` parts. Random ops draw for each sample what they draw for it in the whole. Throws Error(usage) where the
// batch does not divide, Error(unsupported) naming op and line where samples are coupled.
TIDEMARK_API Graph split_batch(const Graph& graph, std::span<const int> batch, std::int64_t parts);

// Of a random op.
bool is_key(const Type& type);

inline constexpr char kPartMark = '@';
// Whether a pattern names the value: one part of it ("h@2") or all of them ("h").
bool names(std::string_view pattern, std::string_view name);

}  // namespace tidemark
