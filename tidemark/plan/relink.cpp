// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/relink.h"

namespace tidemark::plan {

Relink::Stages Relink::stages_of(const Model& model, const std::vector<TaskId>& runs) {
  Stages stages;
  const auto tasks = static_cast<std::size_t>(model.all);
  stages.before.resize(tasks + 1);
  std::vector<char> seen(tasks, 0);
  std::vector<TaskId> others;
  for (const TaskId t : runs) {
    const auto i = static_cast<std::size_t>(t);
    if (seen[i] || model.group[i] != t) {
      others.push_back(t);
      continue;
    }
    seen[i] = 1;
    stages.first_runs.push_back(t);
    stages.before[i].swap(others);
  }
  stages.first_runs.push_back(model.all);  // the end
  stages.before[tasks].swap(others);
  return stages;
}

Relink::Relink(const Model& model, const std::vector<TaskId>& base, const std::vector<TaskId>& other)
    : model_(&model), base_(stages_of(model, base)), other_(stages_of(model, other)) {
  for (std::size_t k = 0; k < base_.first_runs.size(); ++k) {
    const auto t = static_cast<std::size_t>(base_.first_runs[k]);
    if (base_.before[t] == other_.before[t]) continue;
    if (!stretches_.empty() && stretches_.back().second == k)
      stretches_.back().second = k + 1;
    else
      stretches_.emplace_back(k, k + 1);
  }
}

double Relink::seconds_more(std::size_t first, std::size_t last) const {
  double sum = 0;
  for (std::size_t k = stretches_[first].first; k < stretches_[last - 1].second; ++k) {
    const auto t = static_cast<std::size_t>(base_.first_runs[k]);
    for (const TaskId u : other_.before[t]) sum += model_->seconds[static_cast<std::size_t>(u)];
    for (const TaskId u : base_.before[t]) sum -= model_->seconds[static_cast<std::size_t>(u)];
  }
  return sum;
}

std::vector<TaskId> Relink::blend(std::size_t first, std::size_t last) const {
  std::vector<TaskId> runs;
  const std::size_t from = stretches_[first].first, to = stretches_[last - 1].second;
  for (std::size_t k = 0; k < base_.first_runs.size(); ++k) {
    const TaskId t = base_.first_runs[k];
    const auto& before = (from <= k && k < to ? other_ : base_).before[static_cast<std::size_t>(t)];
    runs.insert(runs.end(), before.begin(), before.end());
    if (k + 1 < base_.first_runs.size()) runs.push_back(t);
  }
  return runs;
}

}  // namespace tidemark::plan
