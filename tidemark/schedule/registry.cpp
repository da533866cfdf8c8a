// SPDX-License-Identifier: Apache-2.0
#include "tidemark/schedule/registry.h"

#include <algorithm>
#include <string>

#include "tidemark/base/error.h"
#include "tidemark/schedule/binomial.h"
#include "tidemark/schedule/need.h"
#include "tidemark/schedule/schedules.h"

namespace tidemark::schedule {
namespace {

SchedulePtr make_periodic(const Spec& s) {
  if (s.period > 0 && s.slots > 0)
    fail(Error::Kind::usage, "[periodic] period {} and slots {}; give one of them", s.period, s.slots);
  if (s.period > 0) return periodic(s.steps, s.period);
  need_steps("periodic", s.steps);
  if (s.slots < 1)
    fail(Error::Kind::usage, "[periodic] period {} and slots {} vs at least 1 of either; give one of them",
         s.period, s.slots);
  // The last segment is taped straight away and needs no slot.
  const std::int64_t segments = std::min(s.slots, s.steps) + 1;
  return periodic(s.steps, s.steps / segments + (s.steps % segments != 0));
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
    {"revolve", "fewest forward steps, then fewest writes (Griewank & Walther 2000)", "slots, costs",
     [](const Spec& s) {
       return revolve(s.steps, s.slots, {s.write, s.read}, s.watch);
     },
     true},
    {"mixed", "fewest forward steps where a slot holds a state or a step's adjoint data (Maddison 2024)",
     "slots", [](const Spec& s) { return mixed(s.steps, s.slots); }, true},
    {"multistage", "revolve with the busiest slots in RAM, the others on disk (Stumm & Walther 2009)",
     "slots, disk_slots, costs",
     [](const Spec& s) {
       return multistage(s.steps, s.slots, s.disk_slots, {s.write, s.read}, {s.disk_write, s.disk_read},
                         s.watch);
     },
     true},
    {"disk_revolve", "least time with RAM slots and an unlimited disk (Aupy et al. 2016)", "slots, costs",
     [](const Spec& s) {
       return disk_revolve(s.steps, s.slots, {s.write, s.read}, {s.disk_write, s.disk_read}, s.watch);
     },
     false},
    {"h_revolve", "least time with RAM slots and disk slots (Herrmann & Pallez 2020)",
     "slots, disk_slots, costs",
     [](const Spec& s) {
       return h_revolve(s.steps, s.slots, s.disk_slots, {s.write, s.read}, {s.disk_write, s.disk_read},
                        s.watch);
     },
     true},
    {"online", "length known only at the end (Stumm & Walther 2010, then Wang, Moin & Iaccarino 2009)",
     "slots",
     [](const Spec& s) {
       need_steps("online", s.steps);
       return online(s.slots);
     },
     true},
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

std::int64_t revolve_forward_steps(std::int64_t steps, std::int64_t slots) {
  slots = std::min(slots, steps);
  // Every step once, and r l - C(c + r, r - 1) again, r the least with C(c + r, c) >= l (Griewank & Walther 2000).
  const std::int64_t r = repetition(steps, slots), less = binomial(slots + r, r - 1);
  const __int128 total = static_cast<__int128>(steps) * (r + 1) - less;
  return less >= kHuge || total >= kHuge ? -1 : static_cast<std::int64_t>(total);
}

Counts count(std::string_view name, const Spec& spec, const std::function<void(const Action&)>& seen) {
  const Named& named = schedule_named(name);
  const SchedulePtr schedule = named.make(spec);
  Limits limits{.steps = spec.steps, .slots = {-1, -1}};
  if (named.bounded_slots) limits.slots = {spec.slots, spec.disk_slots < 0 ? -1 : spec.disk_slots};
  const Replay r = replay(*schedule, limits, seen);
  if (!r.broken.empty()) fail(Error::Kind::internal, "[{}] {}", name, r.broken);
  return r.counts;
}

}  // namespace tidemark::schedule
