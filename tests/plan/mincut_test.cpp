// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/mincut.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tidemark/base/random.h"

namespace tidemark::plan {
namespace {

struct Edge {
  int from, to, id;
  MinCut::Flow capacity;
};

MinCut::Flow least_cut_of_all(int nodes, const std::vector<Edge>& edges) {
  MinCut::Flow least = MinCut::kUnlimited;
  for (unsigned set = 0; set < (1u << nodes); ++set) {
    if ((set & 1) == 0 || (set & 2) != 0) continue;
    MinCut::Flow sum = 0;
    for (const Edge& e : edges) {
      if ((set >> e.from & 1) != 0 && (set >> e.to & 1) == 0) sum += e.capacity;
    }
    least = std::min(least, sum);
  }
  return least;
}

// The flow is feasible and as large as the cut: each proves the other.
void expect_proven(const MinCut& m, int nodes, const std::vector<Edge>& edges, MinCut::Flow value) {
  std::vector<MinCut::Flow> balance(static_cast<std::size_t>(nodes));
  MinCut::Flow across = 0;
  for (const Edge& e : edges) {
    EXPECT_GE(m.flow(e.id), 0);
    EXPECT_LE(m.flow(e.id), e.capacity);
    balance[static_cast<std::size_t>(e.from)] -= m.flow(e.id);
    balance[static_cast<std::size_t>(e.to)] += m.flow(e.id);
    if (m.source_side(e.from) && !m.source_side(e.to)) across += e.capacity;
  }
  for (int v = 2; v < nodes; ++v) EXPECT_EQ(balance[static_cast<std::size_t>(v)], 0);
  EXPECT_EQ(balance[MinCut::kSink], value);
  EXPECT_EQ(across, value);
}

TEST(MinCut, equals_the_least_of_all_cuts_also_after_capacities_change) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const int nodes = static_cast<int>(3 + rng.below(6));
    MinCut m(nodes);
    std::vector<Edge> edges;
    for (std::int64_t i = rng.below(24); i >= 0; --i) {
      const int from = static_cast<int>(rng.below(nodes)), to = static_cast<int>(rng.below(nodes));
      if (from == to) continue;
      const MinCut::Flow capacity = rng.below(20);
      edges.push_back({from, to, m.add_edge(from, to, capacity), capacity});
    }
    for (int change = 0; change < 4; ++change) {
      const MinCut::Flow value = m.solve();
      ASSERT_EQ(value, least_cut_of_all(nodes, edges)) << "seed " << seed << " change " << change;
      expect_proven(m, nodes, edges, value);
      for (Edge& e : edges) {
        if (rng.below(2) == 0) continue;
        e.capacity = change == 0 ? e.capacity + rng.below(9) : rng.below(20);
        m.set_capacity(e.id, e.capacity);
      }
    }
  }
}

TEST(MinCut, no_path_is_no_flow) {
  MinCut m(4);
  m.add_edge(MinCut::kSource, 2, MinCut::kUnlimited);
  m.add_edge(3, MinCut::kSink, MinCut::kUnlimited);
  EXPECT_EQ(m.solve(), 0);
  EXPECT_TRUE(m.source_side(2));
  EXPECT_FALSE(m.source_side(3));
}

}  // namespace
}  // namespace tidemark::plan
