// pose: Graph → Problem. Tasks are the nodes that run, buffers the storages of values, costs what the device
// takes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/problem.h"
#include "tidemark/runtime/binding.h"

namespace tidemark {

// A device in three numbers; tasks take the larger of arithmetic and traffic, and a constant beside.
struct Roofline {
  double flops_per_second = 150e9;
  double bytes_per_second = 12e9;
  double seconds_per_task = 2e-6;
};

class RegionCache;

struct PoseOptions {
  int threads = 1;
  Roofline roofline;
  std::string name = "program";
  std::shared_ptr<RegionCache> regions;  // of loops; null: one for this call
};

struct Posed {
  plan::Problem problem;
  Binding binding;
};
// The graph's updates must be placed (place_updates) and its layouts chosen.
TIDEMARK_API Posed pose(Graph graph, const PoseOptions& options);

}  // namespace tidemark
