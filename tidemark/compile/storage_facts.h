// Questions about storage that posing and placing updates both ask.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/graph.h"

namespace tidemark {

inline ValueId root_of(const Graph& g, ValueId v) { return g.value(v).alias_of >= 0 ? g.value(v).alias_of : v; }

// The same elements at the same positions, so that a kernel working element by element may overwrite one with the other.
inline bool covers_alike(const Value& from, const Value& to) {
  return from.type.shape == to.type.shape && size_of(from.type.dtype) == size_of(to.type.dtype) && from.layout == to.layout &&
         from.layout.offset == 0;
}

}  // namespace tidemark
