// Bytes live at every moment of a plan under change: add over a range, most over a range, where the most is.
// A tree of sums with maxima that are never pushed down; O(log n) each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "tidemark/base/bytes.h"

namespace tidemark::plan {

class Profile {
 public:
  void reset(std::int32_t slots) {
    width_ = 1;
    while (width_ < slots) width_ *= 2;
    nodes_.assign(static_cast<std::size_t>(2 * width_), {});
  }
  // The bytes at every moment at once.
  void assign(const std::vector<Bytes>& bytes) {
    reset(static_cast<std::int32_t>(bytes.size()));
    for (std::size_t i = 0; i < bytes.size(); ++i) apply(i + static_cast<std::size_t>(width_), bytes[i]);
    for (auto i = static_cast<std::size_t>(width_); --i > 0;) pull(i);
  }
  std::int32_t width() const { return width_; }

  // Over [first, last], both included; nothing when first > last.
  void add(std::int32_t first, std::int32_t last, Bytes bytes) {
    if (first > last) return;
    std::size_t l = static_cast<std::size_t>(first + width_), r = static_cast<std::size_t>(last + width_);
    // The most of the two nodes stays at hand: reading back what was just written is what would take the time.
    Bytes left = apply(l, bytes), right = l == r ? nodes_[l ^ 1].most : apply(r, bytes);
    while (l != r && (l ^ r) != 1) {
      // On which side the sibling lies no branch of a processor foresees, so there is none.
      left = std::max(left, apply(l ^ 1, if_odd(l + 1, bytes)));
      right = std::max(right, apply(r ^ 1, if_odd(r, bytes)));
      l >>= 1;
      r >>= 1;
      left = nodes_[l].most = left + nodes_[l].sum;
      right = nodes_[r].most = right + nodes_[r].sum;
    }
    // Where the most of a node stays the same, so does all above it: most changes are far from the summit.
    for (Bytes most = std::max(left, right); l >>= 1; most = std::max(nodes_[l].most, nodes_[l ^ 1].most)) {
      most += nodes_[l].sum;
      if (std::exchange(nodes_[l].most, most) == most) return;
    }
  }

  Bytes most() const { return nodes_[1].most; }

  Bytes most(std::int32_t first, std::int32_t last) const {
    if (first > last) return 0;
    std::size_t l = static_cast<std::size_t>(first + width_), r = static_cast<std::size_t>(last + width_);
    Bytes left = nodes_[l].most, right = nodes_[r].most;
    if (l != r) {
      while ((l ^ r) != 1) {
        left = std::max(left, nodes_[l ^ 1].most - if_odd(l, kBeyond));
        right = std::max(right, nodes_[r ^ 1].most - if_odd(r + 1, kBeyond));
        l >>= 1;
        r >>= 1;
        left += nodes_[l].sum;
        right += nodes_[r].sum;
      }
    }
    left = std::max(left, right);
    while (l >>= 1) left += nodes_[l].sum;
    return left;
  }

  Bytes at(std::int32_t slot) const { return most(slot, slot); }

  // The first moment with the most bytes.
  std::int32_t where_most() const {
    std::size_t i = 1;
    while (i < static_cast<std::size_t>(width_))
      i = 2 * i + (nodes_[2 * i].most >= nodes_[2 * i + 1].most ? 0 : 1);
    return static_cast<std::int32_t>(i) - width_;
  }
  // The first moment in [from, ...) with more than `limit`, or -1.
  std::int32_t first_above(std::int32_t from, Bytes limit) const;

 private:
  struct Node {
    Bytes most = 0, sum = 0;  // most: over its leaves, with its own sum but not its ancestors'
  };
  Bytes apply(std::size_t i, Bytes bytes) {
    nodes_[i].sum += bytes;
    return nodes_[i].most += bytes;
  }
  static constexpr Bytes kBeyond = Bytes{1} << 62;  // more than there can be
  static Bytes if_odd(std::size_t i, Bytes bytes) { return bytes & -static_cast<Bytes>(i & 1); }
  void pull(std::size_t i) {
    nodes_[i].most = std::max(nodes_[2 * i].most, nodes_[2 * i + 1].most) + nodes_[i].sum;
  }

  std::int32_t width_ = 1;
  std::vector<Node> nodes_;
};

inline std::int32_t Profile::first_above(std::int32_t from, Bytes limit) const {
  if (from >= width_) return -1;
  // Climbs to the first subtree to the right that holds such a moment, then descends.
  std::size_t i = static_cast<std::size_t>(from + width_);
  Bytes above = 0;
  for (std::size_t j = i >> 1; j > 0; j >>= 1) above += nodes_[j].sum;
  while (nodes_[i].most + above <= limit) {
    while (i & 1) {
      i >>= 1;
      if (i == 0) return -1;
      above -= nodes_[i].sum;
    }
    if (i == 0) return -1;
    ++i;  // the sibling: the same ancestors
  }
  while (i < static_cast<std::size_t>(width_)) {
    above += nodes_[i].sum;
    i *= 2;
    if (nodes_[i].most + above <= limit) ++i;
  }
  return static_cast<std::int32_t>(i) - width_;
}

}  // namespace tidemark::plan
