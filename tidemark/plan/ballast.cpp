// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/ballast.h"

#include <algorithm>
#include <limits>

#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/finish.h"
#include "tidemark/plan/pack_sweep.h"

namespace tidemark::plan {

using namespace packing;

Ballast::Ballast(const Problem& problem, const Model& model, Bytes arena)
    : problem_(&problem), arena_(arena), heavy_(model), before_(model.workspace) {}

bool Ballast::place(Plan& plan, int most_sweeps, const Limit& limit) {
  const Items items = make_items(lives_of(*problem_, plan), problem_->align);
  const Units height = arena_ / problem_->align;
  at_.clear();
  where_.clear();
  for (const Step& step : plan.steps) at_.push_back(step.kind == Step::Kind::run ? step.id : -1);
  if (items.lower_bound > height) return false;
  Sweeps sweeps(items, height);
  Units least = std::numeric_limits<Units>::max();
  for (int k = 0; k < most_sweeps; ++k) {
    if (sweeps.next(limit)) {
      take_places(*problem_, plan, packing_of(items, {sweeps.offsets(), height_of(items, sweeps.offsets())}, problem_->align));
      return true;
    }
    if (limit.time_is_up()) break;
    if (sweeps.height_out() >= least) continue;
    least = sweeps.height_out();
    where_.clear();
    for (const std::int32_t out : sweeps.out()) {
      const Item& item = items.items[static_cast<std::size_t>(out)];
      where_.push_back({items.moments[static_cast<std::size_t>(item.begin)], items.moments[static_cast<std::size_t>(item.end)]});
    }
  }
  return false;
}

void Ballast::add(Bytes bytes) {
  before_ = heavy_.workspace;
  for (const Runs& runs : where_) {
    for (std::int64_t step = runs.begin; step < runs.end; ++step) {
      const TaskId task = at_[static_cast<std::size_t>(step)];
      if (task < 0) continue;
      const auto t = static_cast<std::size_t>(task);
      heavy_.workspace[t] = before_[t] + bytes;
    }
  }
}

void Ballast::take_back() { heavy_.workspace = before_; }

}  // namespace tidemark::plan
