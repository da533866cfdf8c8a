// All schedules by name: for the program, the drivers and whoever compares them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "tidemark/schedule/replay.h"

namespace tidemark::schedule {

// What a schedule may be told; each uses some of it. Costs are in units of one forward step.
struct Spec {
  std::int64_t steps = 0;
  std::int64_t slots = 0;       // of RAM
  std::int64_t disk_slots = 0;  // for those with two tiers
  std::int64_t period = 0;      // for periodic; 0: what `slots` gives
  double write = 0, read = 0;   // of one state in RAM
  double disk_write = 0, disk_read = 0;
  Watch watch;  // for those that fill tables
};

struct Named {
  const char* name;
  const char* doc;                   // one line, with the source
  const char* uses;                  // which fields of Spec beside steps, for people
  SchedulePtr (*make)(const Spec&);  // throws Error(usage) in the form `[revolve] slots 0 vs at least 1`
  bool bounded_slots;                // keeps within `slots` and `disk_slots`
};

TIDEMARK_API std::span<const Named> schedules();
// Throws Error(usage) with the names there are.
TIDEMARK_API const Named& schedule_named(std::string_view name);
// Makes it, carries it out on counters and checks it; a rule broken is Error(internal).
// `seen` is called with every action; it may throw to end it.
TIDEMARK_API Counts count(std::string_view name, const Spec& spec,
                          const std::function<void(const Action&)>& seen = {});
// The forward steps of revolve by its closed form, without carrying it out; -1 where they do not fit 60 bits.
TIDEMARK_API std::int64_t revolve_forward_steps(std::int64_t steps, std::int64_t slots);

}  // namespace tidemark::schedule
