// A chain and its mirror image, and a plan that states what a bound says: what proofs are tried on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tidemark/plan/bound.h"
#include "tidemark/plan/plan.h"

namespace tidemark::plan {

// Forward a chain of n tasks, backward its mirror image: the i-th backward task reads what the i-th forward
// one wrote.
inline Problem mirror(int n) {
  Problem p;
  p.buffers.push_back({.name = "x", .bytes = 10, .resident = true});
  for (int i = 0; i < n; ++i) p.buffers.push_back({.name = "a" + std::to_string(i), .bytes = 100});
  for (int i = 0; i < n; ++i) p.buffers.push_back({.name = "g" + std::to_string(i), .bytes = 40});
  for (int i = 0; i < n; ++i)
    p.tasks.push_back(
        {.name = "f" + std::to_string(i), .reads = {i}, .writes = {i + 1}, .seconds = 1.0 + i % 3});
  for (int i = 0; i < n; ++i) {
    Task t{.name = "b" + std::to_string(i), .reads = {n - i}, .writes = {n + 1 + i}, .seconds = 2};
    if (i > 0) t.reads.push_back(n + i);
    p.tasks.push_back(t);
  }
  p.outputs = {2 * n};
  return p;
}

// What states a bound with its proof.
inline Plan claim(const BoundResult& r, Bytes budget) {
  Plan plan;
  plan.budget = budget;
  plan.seconds_bound = r.seconds;
  plan.peak_bound = r.peak.bytes;
  plan.proof = r.proof;
  return plan;
}

}  // namespace tidemark::plan
