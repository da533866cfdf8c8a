// What the kernels of loops share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "tidemark/ir/graph.h"
#include "tidemark/ir/storage.h"
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

// Where a pair's states lie in a tier, by its attributes; nothing where none does.
inline schedule::TierSplits splits_of(const Attrs& attrs) {
  if (attrs.find("tier") == nullptr) return {};
  if (attrs.find("splits") != nullptr) return attrs.integers("splits");
  return schedule::equal_splits(attrs.integer("trips"), attrs.integer("period"));
}

// The steps that the area of a pair reverses at once, at most.
inline std::int64_t longest_leaf(const Attrs& attrs) {
  const std::int64_t trips = attrs.integer("trips");
  if (attrs.find("tier") == nullptr) return trips;
  return attrs.find("period") != nullptr ? attrs.integer("period") : schedule::tier_shape(attrs.integers("splits"), trips).longest;
}

}  // namespace tidemark
