// What the kernels of loops share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "tidemark/ir/graph.h"
#include "tidemark/ir/storage.h"
#include "tidemark/ops/loops.h"
#include "tidemark/schedule/tier_splits.h"

namespace tidemark {

inline std::vector<Bytes> bytes_of(const Graph& g, const std::vector<ValueId>& ids) {
  std::vector<Bytes> bytes;
  for (const ValueId v : ids) bytes.push_back(g.type(v).bytes());
  return bytes;
}

// Where the arrays of a state lie from the start of a snapshot.
inline std::vector<Bytes> offsets_of(std::span<const Bytes> sizes) {
  std::vector<Bytes> offsets;
  Bytes at = 0;
  for (const Bytes b : sizes) {
    offsets.push_back(at);
    at += round_up(b, kStorageAlign);
  }
  offsets.push_back(at);
  return offsets;
}

// The states of a pair between which segments are reversed, by its attributes; nothing where its loop is one segment.
inline schedule::TierSplits splits_of(const Attrs& attrs) {
  if (attrs.find("splits") != nullptr) return attrs.integers("splits");
  if (attrs.find("period") == nullptr) return {};
  return schedule::equal_splits(attrs.integer("trips"), attrs.integer("period"));
}

// The bytes in which a pair with an area of so many reverses a segment.
inline Bytes area_of_segments(const Attrs& attrs, Bytes area) { return attrs.integer("extra", area); }

// The steps that the area of a pair reverses at once, at most.
inline std::int64_t longest_leaf(const Attrs& attrs) {
  return attrs.integer("longest", attrs.integer("trips"));
}

// A loop that keeps states and its adjoint, as nodes of a graph.
struct PairNodes {
  std::size_t saving, adjoint;
};

inline std::vector<PairNodes> pairs_of(const Graph& g) {
  std::vector<PairNodes> pairs;
  const std::vector<std::int32_t> maker = makers(g);
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    if (g.nodes[n].op == &scan_adjoint_op)
      pairs.push_back({static_cast<std::size_t>(maker[static_cast<std::size_t>(g.nodes[n].in[0])]), n});
  }
  return pairs;
}

}  // namespace tidemark
