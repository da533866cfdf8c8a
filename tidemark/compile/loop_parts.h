// What the kernels of loops share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "tidemark/ir/graph.h"
#include "tidemark/ir/storage.h"

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

}  // namespace tidemark
