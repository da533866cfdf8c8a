// The independent checker of schedules: carries the actions out on counters instead of states. Runs in tests,
// in the benchmark and behind `tidemark schedule`; shares no code with the schedules.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/schedule/schedule.h"

namespace tidemark::schedule {

// What a schedule may use. Slots by tier; a tier that is not listed has none, -1 is no limit.
struct Limits {
  std::int64_t steps = 0;
  std::vector<std::int64_t> slots = {-1};
  std::int64_t taped_steps = -1;  // most steps on the working tape at once
  // With sizes, slots and working tape together are counted in bytes: of state i and of the adjoint data of
  // step i.
  std::function<Bytes(std::int64_t)> state_bytes, tape_bytes;
  Bytes bytes = -1;
};

// Every execution of a step of the primal is a forward step: in the first sweep, when states are made again,
// and the taped one just before its reverse.
struct Counts {
  struct Tier {
    std::int64_t snapshots = 0;  // most slots in use at once
    std::int64_t writes = 0, reads = 0;
  };
  std::int64_t forward_steps = 0, reverse_steps = 0;
  std::int64_t taped_steps = 0;  // most steps on the working tape at once
  std::int64_t snapshots = 0;    // most slots in use at once, all tiers together
  std::int64_t writes = 0, reads = 0;
  Bytes bytes = 0;  // most at once, where sizes are given
  std::vector<Tier> tiers;
};

struct Replay {
  std::string broken;  // "" or the first rule broken, and at which action
  Counts counts;
};

// Memory grows with the slots in use, not with the steps. `seen` is called with every action, after it was
// checked.
TIDEMARK_API Replay replay(Schedule& schedule, const Limits& limits,
                           const std::function<void(const Action&)>& seen = {});

// "" or the first rule broken, with `slots` of tier 0.
TIDEMARK_API std::string check(Schedule& schedule, std::int64_t steps, std::int64_t slots);

}  // namespace tidemark::schedule
