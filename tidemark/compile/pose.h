// pose: Graph → Problem. Tasks are the nodes that run, buffers the storages of values, costs what the device
// takes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/problem.h"
#include "tidemark/runtime/binding.h"
#include "tidemark/runtime/profile.h"

namespace tidemark {

class RegionCache;

struct PoseOptions {
  int threads = 1;
  const DeviceProfile* profile = nullptr;  // null: cpu_profile(threads)
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
