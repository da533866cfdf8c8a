// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/ballast.h"

#include <algorithm>
#include <limits>

#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/finish.h"

namespace tidemark::plan {

using namespace packing;

namespace {
constexpr Units kNear =
    2;  // times the least that a sweep leaves out: where others leave no more, that counts too
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
}  // namespace

Ballast::Ballast(const Problem& problem, const Model& model, Bytes arena)
    : problem_(&problem), arena_(arena), light_(&model), heavy_(model), before_(model.workspace) {}

bool Ballast::place(Plan& plan, int most_sweeps, const Limit& limit) {
  const Items items = make_items(lives_of(*problem_, plan), problem_->align);
  const Units height = arena_ / problem_->align;
  before_ = heavy_.workspace;
  at_.clear();
  where_.clear();
  bytes_out_ = 0;
  for (const Step& step : plan.steps) at_.push_back(step.kind == Step::Kind::run ? step.id : -1);
  live_.assign(at_.size() + 1, 0);
  if (items.lower_bound > height) return false;
  for (std::size_t s = 0; s < items.live.size(); ++s)
    std::fill(live_.begin() + items.moments[s], live_.begin() + items.moments[s + 1],
              static_cast<double>(items.live[s]) / static_cast<double>(height));
  // They fill what there is, so there is not much more than enough.
  Sweeps sweeps(items, std::min(height, items.lower_bound + items.lower_bound / 16));
  recall(plan, items, sweeps);
  Units least = std::numeric_limits<Units>::max() / kNear;
  for (int k = 0; k < most_sweeps; ++k) {
    if (sweeps.next(limit)) {
      const Layout layout{sweeps.offsets(), height_of(items, sweeps.offsets())};
      take_places(*problem_, plan, packing_of(items, layout, problem_->align));
      return true;
    }
    if (limit.time_is_up()) break;
    if (sweeps.height_out() >= kNear * least) continue;
    if (least >= kNear * sweeps.height_out()) where_.clear();
    least = std::min(least, sweeps.height_out());
    bytes_out_ = least * problem_->align;
    for (const std::int32_t out : sweeps.out()) {
      const Item& item = items.items[at(out)];
      where_.push_back({items.moments[at(item.begin)], items.moments[at(item.end)]});
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
    auto& leads = leads_[at(b)];
    const std::size_t making = makings[at(b)]++;
    if (leads.size() <= making) leads.resize(making + 1, {0, 0});
    each(at(items.item_of[i]), leads[making]);
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

void Ballast::set(Bytes more, double most_live) {
  heavy_.workspace = before_;
  std::vector<bool> full(before_.size());
  for (std::size_t step = 0; step < at_.size(); ++step)
    if (at_[step] >= 0 && live_[step] > most_live) full[at(at_[step])] = true;
  for (const Range& range : where_) {
    for (std::int64_t step = range.begin; step < range.end; ++step) {
      const TaskId task = at_[at(step)];
      if (task >= 0 && !full[at(task)]) heavy_.workspace[at(task)] = before_[at(task)] + more;
    }
  }
}

void Ballast::lighten(double part) {
  for (std::size_t t = 0; t < heavy_.workspace.size(); ++t) {
    const Bytes least = light_->workspace[t];
    heavy_.workspace[t] = least + static_cast<Bytes>(part * static_cast<double>(heavy_.workspace[t] - least));
  }
}

}  // namespace tidemark::plan
