// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/ballast.h"

#include <algorithm>
#include <limits>

#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/finish.h"

namespace tidemark::plan {

using namespace packing;

Ballast::Ballast(const Problem& problem, const Model& model, Bytes arena)
    : problem_(&problem), arena_(arena), heavy_(model), before_(model.workspace) {}

bool Ballast::place(Plan& plan, int most_sweeps, const Limit& limit) {
  const Items items = make_items(lives_of(*problem_, plan), problem_->align);
  const Units height = arena_ / problem_->align;
  before_ = heavy_.workspace;
  at_.clear();
  where_.clear();
  bytes_out_ = 0;
  for (const Step& step : plan.steps) at_.push_back(step.kind == Step::Kind::run ? step.id : -1);
  if (items.lower_bound > height) return false;
  // They fill what there is, so there is not much more than enough.
  Sweeps sweeps(items, std::min(height, items.lower_bound + items.lower_bound / 16));
  recall(plan, items, sweeps);
  Units least = std::numeric_limits<Units>::max();
  for (int k = 0; k < most_sweeps; ++k) {
    if (sweeps.next(limit)) {
      const Layout layout{sweeps.offsets(), height_of(items, sweeps.offsets())};
      take_places(*problem_, plan, packing_of(items, layout, problem_->align));
      return true;
    }
    if (limit.time_is_up()) break;
    if (sweeps.height_out() >= least) continue;
    least = sweeps.height_out();
    bytes_out_ = least * problem_->align;
    where_.clear();
    for (const std::int32_t out : sweeps.out()) {
      const Item& item = items.items[static_cast<std::size_t>(out)];
      where_.push_back({items.moments[static_cast<std::size_t>(item.begin)],
                        items.moments[static_cast<std::size_t>(item.end)]});
    }
  }
  remember(plan, items, sweeps);
  return false;
}

// Each by its buffer and which of its makings it is.
template <typename Each>
void Ballast::for_each_making(const Plan& plan, const Items& items, const Each& each) {
  std::vector<std::size_t> makings(problem_->buffers.size(), 0);
  leads_.resize(problem_->buffers.size());
  for (std::size_t i = 0; i < plan.placements.size(); ++i) {
    const BufferId b = plan.placements[i].buffer;
    if (b < 0 || items.item_of[i] < 0) continue;
    auto& leads = leads_[static_cast<std::size_t>(b)];
    const std::size_t making = makings[static_cast<std::size_t>(b)]++;
    if (leads.size() <= making) leads.resize(making + 1, {0, 0});
    each(static_cast<std::size_t>(items.item_of[i]), leads[making]);
  }
}

void Ballast::recall(const Plan& plan, const Items& items, Sweeps& sweeps) {
  Sweeps::Leads leads(items.items.size(), {0, 0});
  for_each_making(plan, items, [&](std::size_t item, const auto& lead) { leads[item] = lead; });
  sweeps.set_leads(leads);
}

void Ballast::remember(const Plan& plan, const Items& items, const Sweeps& sweeps) {
  const Sweeps::Leads leads = sweeps.leads();
  for_each_making(plan, items, [&](std::size_t item, auto& lead) { lead = leads[item]; });
}

void Ballast::set(Bytes more) {
  heavy_.workspace = before_;
  for (const Range& range : where_) {
    for (std::int64_t step = range.begin; step < range.end; ++step) {
      const TaskId task = at_[static_cast<std::size_t>(step)];
      if (task >= 0)
        heavy_.workspace[static_cast<std::size_t>(task)] = before_[static_cast<std::size_t>(task)] + more;
    }
  }
}

}  // namespace tidemark::plan
