// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/planners/checkmate_model.h"

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/plan/budget.h"

namespace tidemark::plan::named {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

CheckmateModel::CheckmateModel(const char* name, const Outline& o)
    : o_(o), n_(o.order.size()), reads_(n_), writes_(n_) {
  const Problem& p = *o.problem;
  std::vector<std::size_t> value_of(p.buffers.size(), p.buffers.size());
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    if (p.buffers[b].start >= 0)
      fail(Error::Kind::unsupported,
           "[{}] applies to problems whose buffers are made or resident; '{}' starts in tier '{}'", name,
           p.buffers[b].name, p.tiers[at(p.buffers[b].start)].name);
    if (p.buffers[b].resident || o.maker[b] < 0) continue;
    value_of[b] = values_.size();
    values_.push_back({static_cast<BufferId>(b), o.place[at(o.maker[b])], -1, {}});
  }
  for (std::size_t i = 0; i < n_; ++i) {
    const Task& task = p.tasks[at(o.order[i])];
    for (const BufferId b : task.reads) {
      const std::size_t v = value_of[at(b)];
      if (v == p.buffers.size() || std::find(reads_[i].begin(), reads_[i].end(), v) != reads_[i].end())
        continue;
      reads_[i].push_back(v);
      values_[v].users.push_back(static_cast<int>(i));
    }
    for (const BufferId b : task.writes) {
      const std::size_t v = value_of[at(b)];
      if (v != p.buffers.size() && values_[v].maker == static_cast<int>(i)) writes_[i].push_back(v);
    }
  }
  for (const BufferId b : p.outputs)
    if (value_of[at(b)] != p.buffers.size()) values_[value_of[at(b)]].needed = static_cast<int>(n_);
  // Backwards: a value is of use until the last stage of anything that can be made from it.
  for (std::size_t i = n_; i-- > 0;) {
    int needed = static_cast<int>(i);
    if (o.repeatable[at(o.order[i])])
      for (const std::size_t v : writes_[i])
        needed = std::max(needed, std::min(values_[v].needed, static_cast<int>(n_) - 1));
    for (const std::size_t v : reads_[i]) values_[v].needed = std::max(values_[v].needed, needed);
  }
}

double CheckmateModel::size_estimate() const {
  double sum = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    double hazards = 4;
    for (const std::size_t v : reads_[i]) hazards += 3 + static_cast<double>(values_[v].users.size());
    sum += hazards * static_cast<double>(n_ - i);
  }
  return sum;
}

int CheckmateModel::column(double cost, double lower, double upper, bool integer) {
  cost_.push_back(cost);
  lower_.push_back(lower);
  upper_.push_back(upper);
  integer_.push_back(integer);
  return columns() - 1;
}

void CheckmateModel::row(double lower, double upper, const std::vector<std::pair<int, double>>& terms) {
  row_lower_.push_back(lower);
  row_upper_.push_back(upper);
  start_.push_back(static_cast<int>(index_.size()));
  const auto first = static_cast<std::ptrdiff_t>(index_.size());
  for (const auto& [c, v] : terms) {
    // A column may come twice: outputs of one task.
    const auto it = std::find(index_.begin() + first, index_.end(), c);
    if (it != index_.end()) {
      value_[static_cast<std::size_t>(it - index_.begin())] += v;
    } else {
      index_.push_back(c), value_.push_back(v);
    }
  }
}

bool CheckmateModel::build(Bytes budget, const Limit& limit) {
  const Problem& p = *o_.problem;
  cost_.clear(), lower_.clear(), upper_.clear(), integer_.clear();
  row_lower_.clear(), row_upper_.clear(), start_.clear(), index_.clear(), value_.clear();
  const int n = static_cast<int>(n_);
  r_.assign(n_ * n_, -1);
  s_.assign((n_ + 1) * values_.size(), -1);
  offset_ = 0;
  for (int t = 0; t < n; ++t) {
    if (limit.time_is_up()) return false;
    for (int i = 0; i <= t; ++i) {
      const Task& task = p.tasks[at(o_.order[at(i)])];
      if (i == t) {
        r(t, i) = column(0, 1, 1, false);
        offset_ += task.seconds;
        continue;
      }
      const bool useful = std::any_of(writes_[at(i)].begin(), writes_[at(i)].end(),
                                      [&](std::size_t v) { return values_[v].needed >= t; });
      if (useful && o_.repeatable[at(o_.order[at(i)])]) r(t, i) = column(task.seconds, 0, 1, true);
    }
    for (std::size_t v = 0; v < values_.size(); ++v)
      if (values_[v].maker < t && values_[v].needed >= t) s(t, v) = column(0, 0, 1, true);
  }
  for (std::size_t v = 0; v < values_.size(); ++v)
    if (values_[v].needed == n) s(n, v) = column(0, 1, 1, false);
  constexpr double kInfinity = 1e30;
  for (int t = 0; t < n; ++t) {
    if (limit.time_is_up()) return false;
    for (int i = 0; i <= t; ++i) {
      if (r(t, i) < 0) continue;
      for (const std::size_t v : reads_[at(i)]) {  // R(t, i) <= R(t, maker) + S(t, v)
        std::vector<std::pair<int, double>> terms{{r(t, i), 1}};
        if (r(t, values_[v].maker) >= 0) terms.push_back({r(t, values_[v].maker), -1});
        if (s(t, v) >= 0) terms.push_back({s(t, v), -1});
        row(-kInfinity, 0, terms);
      }
    }
    for (std::size_t v = 0; v < values_.size(); ++v) {
      if (s(t + 1, v) < 0) continue;  // S(t + 1, v) <= R(t, maker) + S(t, v)
      std::vector<std::pair<int, double>> terms{{s(t + 1, v), 1}};
      if (r(t, values_[v].maker) >= 0) terms.push_back({r(t, values_[v].maker), -1});
      if (s(t, v) >= 0) terms.push_back({s(t, v), -1});
      row(-kInfinity, 0, terms);
    }
  }
  const double scale = 1 / static_cast<double>(std::max<Bytes>(1, budget));
  for (int t = 0; t < n; ++t) {
    if (limit.time_is_up()) return false;
    memory_of_stage(t, scale, static_cast<double>(resident_bytes(p)) * scale);
  }
  return true;
}

// U runs along the tasks of a stage: what was kept, plus what is made, less what is freed behind its last user there.
void CheckmateModel::memory_of_stage(int t, double scale, double base) {
  const Problem& p = *o_.problem;
  std::vector<std::pair<int, double>> before;  // U before the next task, as terms
  double constant = base;
  for (std::size_t v = 0; v < values_.size(); ++v)
    if (s(t, v) >= 0) before.push_back({s(t, v), static_cast<double>(p.size(values_[v].buffer)) * scale});
  for (int k = 0; k <= t; ++k) {
    if (r(t, k) < 0) continue;
    const double workspace =
        static_cast<double>(round_up(p.tasks[at(o_.order[at(k)])].workspace, p.align)) * scale;
    // A little room for the solver's tolerance: less than half a byte, or a billionth.
    const double most = 1 + std::min(0.4 * scale, 1e-3);
    const int u = column(0, 0, most, false);
    auto terms = before;
    for (const std::size_t v : writes_[at(k)]) {
      const double bytes = static_cast<double>(p.size(values_[v].buffer)) * scale;
      int made = r(t, k);
      // Of several outputs one may have been kept; it takes nothing more: made >= R - S.
      if (writes_[at(k)].size() > 1 && s(t, v) >= 0) {
        made = column(0, 0, 1, false);
        row(-1e30, 0, {{r(t, k), 1}, {s(t, v), -1}, {made, -1}});
      }
      terms.push_back({made, bytes});
    }
    terms.push_back({u, -1});
    row(-constant, -constant, terms);
    if (workspace > 0) row(-1e30, most, {{u, 1}, {r(t, k), workspace}});
    before = {{u, 1}};
    constant = 0;
    const auto may_free = [&](std::size_t v) {
      const Value& value = values_[v];
      const int free = column(0, 0, 1, false);
      row(-1e30, 0, {{free, 1}, {r(t, k), -1}});
      if (s(t + 1, v) >= 0) row(-1e30, 1, {{free, 1}, {s(t + 1, v), 1}});
      for (const int j : value.users)
        if (j > k && j <= t && r(t, j) >= 0) row(-1e30, 1, {{free, 1}, {r(t, j), 1}});
      before.push_back({free, -static_cast<double>(p.size(value.buffer)) * scale});
    };
    for (const std::size_t v : reads_[at(k)]) may_free(v);
    for (const std::size_t v : writes_[at(k)]) may_free(v);
  }
}

std::vector<Step> CheckmateModel::runs(const std::vector<double>& values) const {
  std::vector<Step> out;
  for (int t = 0; t < static_cast<int>(n_); ++t)
    for (int i = 0; i <= t; ++i)
      if (i == t || (r(t, i) >= 0 && values[at(r(t, i))] > 0.5))
        out.push_back({Step::Kind::run, o_.order[at(i)], -1, {}});
  return out;
}

std::vector<Step> CheckmateModel::two_phase(const std::vector<double>& values, double threshold) const {
  std::vector<Step> out;
  std::vector<char> kept(values_.size(), 0), run(n_, 0);
  for (int t = 0; t < static_cast<int>(n_); ++t) {
    std::fill(run.begin(), run.end(), 0);
    run[at(t)] = 1;
    std::vector<char> next(values_.size(), 0);
    for (std::size_t v = 0; v < values_.size(); ++v) {
      const int c = s(t + 1, v);
      const bool repeatable = o_.repeatable[at(o_.order[at(values_[v].maker)])];
      // What cannot be made again is kept as long as anything can need it.
      next[v] = c >= 0 && (values[at(c)] > threshold || !repeatable);
      if (!next[v] || kept[v] || values_[v].maker == t) continue;
      if (repeatable) run[at(values_[v].maker)] = 1;
    }
    for (int i = t; i >= 0; --i)
      if (run[at(i)])
        for (const std::size_t v : reads_[at(i)])
          if (!kept[v]) run[at(values_[v].maker)] = 1;
    for (int i = 0; i <= t; ++i)
      if (run[at(i)]) out.push_back({Step::Kind::run, o_.order[at(i)], -1, {}});
    kept = std::move(next);
  }
  return out;
}

}  // namespace tidemark::plan::named
