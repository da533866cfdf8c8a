// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack_tree.h"

#include <algorithm>
#include <bit>

namespace tidemark::plan::packing {
namespace {

void insert(Ranges& set, Range r) {
  // The first range that touches or lies beyond r.
  auto first =
      std::lower_bound(set.begin(), set.end(), r.begin, [](const Range& a, Units b) { return a.end < b; });
  auto last = first;
  while (last != set.end() && last->begin <= r.end) {
    r.begin = std::min(r.begin, last->begin);
    r.end = std::max(r.end, last->end);
    ++last;
  }
  if (first == last) {
    set.insert(first, r);
  } else {
    *first = r;
    set.erase(first + 1, last);
  }
}

}  // namespace

AddressTree::AddressTree(std::int32_t sections) {
  leaves_ = static_cast<std::int32_t>(std::bit_ceil(static_cast<std::uint32_t>(std::max(sections, 1))));
  nodes_.resize(2 * static_cast<std::size_t>(leaves_));
}

void AddressTree::clear() {
  for (Node& node : nodes_) {
    node.whole.clear();
    node.any.clear();
  }
}

void AddressTree::add(std::int32_t begin, std::int32_t end, Range range) {
  add(1, 0, leaves_, begin, end, range);
}

void AddressTree::add(std::size_t node, std::int32_t low, std::int32_t high, std::int32_t begin,
                      std::int32_t end, Range range) {
  insert(nodes_[node].any, range);
  if (begin <= low && high <= end) {
    insert(nodes_[node].whole, range);
    return;
  }
  const std::int32_t middle = low + (high - low) / 2;
  if (begin < middle) add(2 * node, low, middle, begin, end, range);
  if (middle < end) add(2 * node + 1, middle, high, begin, end, range);
}

const Ranges& AddressTree::taken(std::int32_t begin, std::int32_t end) {
  result_.clear();
  collect(1, 0, leaves_, begin, end);
  return result_;
}

void AddressTree::collect(std::size_t node, std::int32_t low, std::int32_t high, std::int32_t begin,
                          std::int32_t end) {
  if (begin <= low && high <= end) {
    merge(nodes_[node].any);
    return;
  }
  merge(nodes_[node].whole);
  const std::int32_t middle = low + (high - low) / 2;
  if (begin < middle) collect(2 * node, low, middle, begin, end);
  if (middle < end) collect(2 * node + 1, middle, high, begin, end);
}

void AddressTree::merge(const Ranges& more) {
  if (more.empty()) return;
  if (result_.empty()) {
    result_ = more;
    return;
  }
  scratch_.clear();
  auto a = result_.begin();
  auto b = more.begin();
  const auto take = [&](const Range& r) {
    if (!scratch_.empty() && r.begin <= scratch_.back().end) {
      scratch_.back().end = std::max(scratch_.back().end, r.end);
    } else {
      scratch_.push_back(r);
    }
  };
  while (a != result_.end() && b != more.end()) take(a->begin <= b->begin ? *a++ : *b++);
  while (a != result_.end()) take(*a++);
  while (b != more.end()) take(*b++);
  result_.swap(scratch_);
}

}  // namespace tidemark::plan::packing
