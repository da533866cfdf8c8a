// Which addresses are taken during a stretch of time: a segment tree over sections whose nodes hold sets of
// address ranges. A dense packing has few holes, so the sets stay short where a conflict graph has hundreds
// of millions of pairs. Internal to pack.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tidemark/plan/pack_items.h"

namespace tidemark::plan::packing {

struct Range {
  Units begin = 0, end = 0;
};
using Ranges = std::vector<Range>;  // ordered, disjoint, not touching

class AddressTree {
 public:
  explicit AddressTree(std::int32_t sections);
  void clear();
  // Takes `range` during [begin, end).
  void add(std::int32_t begin, std::int32_t end, Range range);
  // What is taken at some moment of [begin, end); the reference lives until the next call.
  const Ranges& taken(std::int32_t begin, std::int32_t end);

 private:
  struct Node {
    Ranges whole;  // taken during all of the node's stretch
    Ranges any;    // taken at some moment of it
  };
  void add(std::size_t node, std::int32_t low, std::int32_t high, std::int32_t begin, std::int32_t end,
           Range range);
  void collect(std::size_t node, std::int32_t low, std::int32_t high, std::int32_t begin, std::int32_t end);
  void merge(const Ranges& more);

  std::int32_t leaves_ = 1;
  std::vector<Node> nodes_;
  Ranges result_, scratch_;
};

}  // namespace tidemark::plan::packing
