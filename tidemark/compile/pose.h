// pose: Graph → Problem. Tasks are the nodes that run, buffers the storages of values, costs what the device
// takes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/plan.h"
#include "tidemark/plan/problem.h"
#include "tidemark/runtime/binding.h"
#include "tidemark/runtime/profile.h"
#include "tidemark/store/tier_store.h"

namespace tidemark {

class RegionCache;

struct PoseOptions {
  int threads = 1;
  const DeviceProfile* profile = nullptr;  // null: cpu_profile(threads)
  std::string name = "program";
  std::shared_ptr<RegionCache> regions;  // of loops; null: one for this call
  std::vector<TierSpec> tiers{};         // where loops may keep states, their rates measured
};

// Another way to have a value when it is wanted (compile/makers.h): tasks that run, and tasks that they run instead of.
struct Maker {
  std::string method;          // "mask", "factor", "in consumer", or a codec's name
  plan::BufferId buffer = -1;  // what need not be kept
  std::vector<plan::TaskId> run, instead;
  Bytes saved = 0;     // bytes fewer between the uses
  double seconds = 0;  // more
  bool lossy = false, can_overflow = false;
};

struct Posed {
  plan::Problem problem;
  Binding binding;
  std::vector<Maker> makers{};  // of its optional tasks
  // Of the tasks when makers were looked for: which are on offer depends on them, so that a plan file has them too.
  std::vector<double> maker_seconds{};
  // By which areas of loops were found to fit the budget, before tiers and makers were added; may be null, and no plan of what it became since.
  std::shared_ptr<const plan::Plan> known{};
};
// The graph's updates must be placed (place_updates) and its layouts chosen.
TIDEMARK_API Posed pose(Graph graph, const PoseOptions& options);

}  // namespace tidemark
