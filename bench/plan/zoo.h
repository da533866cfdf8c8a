// bench_plan --zoo: training steps of the models that come with Tidemark, which no constant of the search was chosen on. Beside each plan of
// `solve` stands the best of the named planners, given the same time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tidemark::bench {

struct ZooSettings {
  std::string rows = "*";  // glob on "zoo/resnet50@60"
  double time = 1;         // for each planner
  bool against = true;     // run the named planners too
};

// The number of rows in which something is wrong: a named planner is better, or finds a plan where solve does not.
int run_zoo(const ZooSettings& settings);

}  // namespace tidemark::bench
