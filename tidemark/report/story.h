// What happens when a plan is carried out, as the report draws it: runs in time, lives of buffers in time and address.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/plan.h"

namespace tidemark {

struct Run {
  plan::TaskId task = 0;
  double begin = 0, end = 0;  // seconds; copies that make it wait included
  bool again = false;         // the task had run before: recomputation
  Bytes live = 0;             // resident and workspace included
  std::int32_t step = 0;      // of the plan
};
struct Life {
  plan::BufferId buffer = 0;         // or Placement::kWorkspace
  std::int32_t first = 0, last = 0;  // runs, half-open: alive during runs [first, last)
  Bytes offset = -1, bytes = 0;      // offset -1: the plan has no arena
};
struct Copy {
  plan::BufferId buffer = 0;
  plan::TierId tier = -1;
  bool out = false;           // evict; else fetch
  std::int32_t run = 0;       // issued before this run
  double begin = 0, end = 0;  // seconds, by the rules of docs/format.md
};
struct Story {
  std::vector<Run> runs;
  std::vector<Life> lives;
  std::vector<Copy> copies;
  Bytes resident = 0;
};

// The plan must pass check().
TIDEMARK_API Story tell(const plan::Problem& problem, const plan::Plan& plan);

}  // namespace tidemark
