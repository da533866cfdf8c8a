// SPDX-License-Identifier: Apache-2.0
#include "tidemark/schedule/registry.h"

#include <algorithm>
#include <string>

#include "tidemark/base/error.h"
#include "tidemark/schedule/need.h"

namespace tidemark::schedule {
namespace {

SchedulePtr make_periodic(const Spec& s) {
  if (s.period > 0) return periodic(s.steps, s.period);
  need_steps("periodic", s.steps);
  need("periodic", "slots", s.slots, 1);
  // The last segment is taped straight away and needs no slot.
  return periodic(s.steps, s.steps / (s.slots + 1) + (s.steps % (s.slots + 1) != 0));
}

constexpr Named kSchedules[] = {
    {"store_all", "tapes every step in one sweep", "", [](const Spec& s) { return store_all(s.steps); },
     false},
    {"periodic", "keeps every k-th state, tapes a segment at a time", "slots or period", make_periodic,
     false},
    {"sqrt", "periodic with ceil(sqrt(steps)) steps a segment", "",
     [](const Spec& s) { return sqrt(s.steps); }, false},
    {"binary", "bisection with about log2(steps) slots", "", [](const Spec& s) { return binary(s.steps); },
     false},
    {"revolve", "fewest forward steps, then fewest writes (Griewank & Walther 2000)", "slots",
     [](const Spec& s) { return revolve(s.steps, s.slots); }, true},
};

}  // namespace

std::span<const Named> schedules() { return kSchedules; }

const Named& schedule_named(std::string_view name) {
  for (const Named& n : kSchedules)
    if (name == n.name) return n;
  std::string names;
  for (const Named& n : kSchedules) names += (names.empty() ? "" : ", ") + std::string(n.name);
  fail(Error::Kind::usage, "[schedule] no schedule is named '{}'; there are {}", name, names);
}

Counts count(std::string_view name, const Spec& spec) {
  const Named& named = schedule_named(name);
  const SchedulePtr schedule = named.make(spec);
  Limits limits{.steps = spec.steps, .slots = {-1, -1}};
  if (named.bounded_slots) limits.slots = {spec.slots, spec.disk_slots < 0 ? -1 : spec.disk_slots};
  const Replay r = replay(*schedule, limits);
  if (!r.broken.empty()) fail(Error::Kind::internal, "[{}] {}", name, r.broken);
  return r.counts;
}

}  // namespace tidemark::schedule
