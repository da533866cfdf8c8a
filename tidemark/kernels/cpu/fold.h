// Folding arrays in one fixed order, whatever the thread count and whether the elements come from memory or
// from a fused chain: lanes within a block, blocks in order, chunks in order. Used by fused.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/op.h"

namespace tidemark::kernels {

// Partial results are double for floats and i64 for integers: 8 bytes in either case.
template <typename T>
using Accumulator = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;

// (outer, reduced, inner): the middle axis is folded.
struct FoldExtents {
  std::int64_t outer = 1, reduced = 1, inner = 1;
};

inline constexpr std::int64_t kFoldLanes = 64;      // element j of a row goes to lane j % 64
inline constexpr std::int64_t kFoldBlock = 4096;    // elements of a row between two reductions of the lanes
inline constexpr std::int64_t kFoldChunk = 65536;   // elements of a row that one thread folds
inline constexpr std::int64_t kFoldRows = 32;       // rows folded in the element type before they are widened
inline constexpr std::int64_t kFoldRowChunks = 16;  // at most so many partial rows

// Functions on contiguous elements, for one compute dtype and one Fold.
struct FoldFunctions {
  void (*identity_lanes)(void* lanes, std::int64_t n);
  void (*add_lanes)(void* lanes, const void* x, std::int64_t n);  // lane j % kFoldLanes
  void (*add_row)(void* row, const void* x, std::int64_t n);      // row[j] op= x[j]
  void (*identity)(void* accumulators, std::int64_t n);
  void (*close_lanes)(void* accumulator, const void* lanes,
                      std::int64_t used);                              // *accumulator op= lanes, as a tree
  void (*widen)(void* accumulators, const void* row, std::int64_t n);  // accumulators[j] op= row[j]
  void (*combine)(void* accumulators, const void* other, std::int64_t n);
  Bytes lane_bytes;
};
const FoldFunctions& fold_functions(DType compute, Fold fold);

}  // namespace tidemark::kernels
