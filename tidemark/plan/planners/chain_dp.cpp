// The best persistent plan on a chain of unequal tasks, by dynamic programming over (first value, last value, memory).
// Beaumont, Herrmann, Pallez & Shilova, "Optimal memory-aware backpropagation of deep join networks" (2020) and rotor. Here
// a value is one buffer, so that what a step needs of its input and output is shared with what is stored.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/planners/chain_dp.h"

#include <algorithm>
#include <limits>

#include "tidemark/base/error.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/planners/chain_shape.h"

namespace tidemark::plan::named {
namespace {

std::size_t at(std::int64_t id) { return static_cast<std::size_t>(id); }
constexpr double kNever = std::numeric_limits<double>::infinity();

// With value s live and m units free beside it, the steps [s, t) are reversed,
//   C(s, t, m): value t not live,   E(s, t, m): value t live too, not among the m, free after step t - 1.
// Either may make a value x between them first and hold it: it parts the steps into [x, t), reversed first, and [s, x).
class ChainDp {
 public:
  ChainDp(const Outline& o, const ChainShape& chain, Bytes budget, std::int64_t units)
      : p_(*o.problem), chain_(chain), n_(static_cast<std::int64_t>(chain.steps())) {
    const Bytes free = std::max<Bytes>(0, budget - resident_bytes(p_));
    unit_ = std::max<Bytes>(1, (free + units - 1) / units);
    units_ = free / unit_;
    measure(o);
    c_.assign(at(n_ * (n_ + 1) * (units_ + 1)), kNever);
    e_ = c_;
  }

  // False: the time was up.
  bool solve(const Limit& limit) {
    for (std::int64_t length = 1; length <= n_; ++length) {
      for (std::int64_t s = 0; s + length <= n_; ++s) solve_pair(s, s + length);
      if (limit.time_is_up()) return false;
    }
    return true;
  }
  double cost() const { return c(0, n_, units_); }
  std::vector<Step> runs() {
    emit(false, 0, n_, units_);
    return std::move(runs_);
  }

 private:
  std::int64_t up(Bytes bytes) const { return (bytes + unit_ - 1) / unit_; }
  double& cell(std::vector<double>& table, std::int64_t s, std::int64_t t, std::int64_t m) const {
    return table[at((s * (n_ + 1) + t) * (units_ + 1) + m)];
  }
  double c(std::int64_t s, std::int64_t t, std::int64_t m) const {
    return m < 0 ? kNever : c_[at((s * (n_ + 1) + t) * (units_ + 1) + std::min(m, units_))];
  }
  double e(std::int64_t s, std::int64_t t, std::int64_t m) const {
    return m < 0 ? kNever : e_[at((s * (n_ + 1) + t) * (units_ + 1) + std::min(m, units_))];
  }
  double forward(std::int64_t s, std::int64_t x) const { return before_[at(x)] - before_[at(s)]; }

  // Sizes, and what the backward tasks take beside the values.
  void measure(const Outline& o) {
    size_.assign(at(n_ + 1), 0);
    before_.assign(1, 0);
    for (std::int64_t i = 1; i <= n_; ++i) size_[at(i)] = up(p_.size(chain_.value[at(i)]));
    for (const TaskId t : chain_.forward) before_.push_back(before_.back() + p_.tasks[at(t)].seconds);
    std::vector<char> is_value(p_.buffers.size(), 0);
    for (const BufferId b : chain_.value)
      if (b >= 0) is_value[at(b)] = 1;
    std::vector<std::int64_t> last(p_.buffers.size(), -1), made(p_.buffers.size(), -1);
    std::int64_t clock = 0;
    const auto each_back_task = [&](auto&& f) {
      clock = 0;
      for (std::int64_t i = n_; i-- > 0;)
        for (const TaskId t : chain_.back[at(i)]) f(i, p_.tasks[at(t)], clock++);
    };
    each_back_task([&](std::int64_t, const Task& task, std::int64_t now) {
      for (const BufferId b : task.reads) last[at(b)] = now;
      for (const BufferId b : task.writes) {
        last[at(b)] = now;
        if (made[at(b)] < 0) made[at(b)] = now;
      }
    });
    for (const BufferId b : o.problem->outputs) last[at(b)] = std::numeric_limits<std::int64_t>::max();
    Bytes live = 0;
    held_.assign(at(n_ + 1), 0);
    need_.assign(at(n_), 0);
    need_alone_.assign(at(n_), 0);
    std::int64_t previous = n_;
    each_back_task([&](std::int64_t i, const Task& task, std::int64_t now) {
      while (previous > i) held_[at(previous--)] = up(live);
      for (const BufferId b : task.writes)
        if (!is_value[at(b)] && !p_.buffers[at(b)].resident && made[at(b)] == now) live += p_.size(b);
      const Bytes most = live + round_up(task.workspace, p_.align);
      // Value i + 1 is free again behind its last reader.
      const bool out_live = i < n_ && last[at(chain_.value[at(i + 1)])] >= now;
      need_alone_[at(i)] = std::max(need_alone_[at(i)], up(most));
      need_[at(i)] = std::max(need_[at(i)], up(most) - (out_live ? 0 : size_[at(i + 1)]));
      const auto end = [&](BufferId b) {
        if (is_value[at(b)] || p_.buffers[at(b)].resident || last[at(b)] != now || made[at(b)] < 0) return;
        live -= p_.size(b);
        made[at(b)] = -1;
      };
      for (const BufferId b : task.reads) end(b);
      for (const BufferId b : task.writes) end(b);
    });
    while (previous >= 0) held_[at(previous--)] = up(live);
    // To run forward from s, beside value s.
    sweep_.assign(at(n_ * (n_ + 1)), 0);
    for (std::int64_t s = 0; s < n_; ++s) {
      std::int64_t most = 0;
      for (std::int64_t j = s; j < n_; ++j) {
        const std::int64_t workspace = up(round_up(p_.tasks[at(chain_.forward[at(j)])].workspace, p_.align));
        most = std::max(most, (j > s ? size_[at(j)] : 0) + size_[at(j + 1)] + workspace);
        sweep_[at(s * (n_ + 1) + j + 1)] = most;
      }
    }
  }
  bool can_sweep(std::int64_t s, std::int64_t x, std::int64_t t, std::int64_t m) const {
    return sweep_[at(s * (n_ + 1) + x)] + held_[at(t)] <= m;
  }
  // Memory with which value x can be made from s and be held.
  std::int64_t least_to_sweep(std::int64_t s, std::int64_t x, std::int64_t t) const {
    return std::max(sweep_[at(s * (n_ + 1) + x)] + held_[at(t)], size_[at(x)]);
  }
  bool needs_out(std::int64_t s) const { return chain_.needs_out[at(s)] || s == n_ - 1; }

  // What best_e and best_c would give, for all memory sizes at once: along them the tables are read in a row.
  void solve_pair(std::int64_t s, std::int64_t t) {
    const std::int64_t out = size_[at(t)];
    double* const e_row = &cell(e_, s, t, 0);
    double* const c_row = &cell(c_, s, t, 0);
    const auto at_once = [&](double* row, std::int64_t from, auto&& cost) {
      for (std::int64_t m = from; m <= units_; ++m) row[m] = std::min(row[m], cost(m));
    };
    if (t == s + 1) {
      at_once(e_row, need_[at(s)], [](std::int64_t) { return 0.0; });
      if (!needs_out(s)) at_once(c_row, need_alone_[at(s)], [](std::int64_t) { return 0.0; });
    } else if (!chain_.needs_in[at(t - 1)]) {
      at_once(e_row, need_[at(t - 1)], [&](std::int64_t m) { return c(s, t - 1, m + out); });
    }
    for (std::int64_t x = s + 1; x < t; ++x) {
      const double way = forward(s, x);
      const std::int64_t size = size_[at(x)], from = least_to_sweep(s, x, t);
      const double* const inner = &cell(e_, x, t, 0);
      const double* const outer = &cell(e_, s, x, 0);
      // All of it is free again from here on.
      const std::int64_t all = std::max(from, std::min(units_ + 1, units_ + size - out));
      for (std::int64_t m = from; m < all; ++m)
        e_row[m] = std::min(e_row[m], way + inner[m - size] + outer[m - size + out]);
      for (std::int64_t m = all; m <= units_; ++m)
        e_row[m] = std::min(e_row[m], way + inner[m - size] + outer[units_]);
      const double* const behind = &cell(c_, x, t, 0);
      for (std::int64_t m = from; m <= units_; ++m)
        c_row[m] = std::min(c_row[m], way + behind[m - size] + outer[m - size]);
    }
    for (std::int64_t m = least_to_sweep(s, t, t); m <= units_; ++m)
      c_row[m] = std::min(c_row[m], forward(s, t) + e_row[m - out]);
    at_once(e_row, 0, [&](std::int64_t m) { return c(s, t, m + out); });
  }

  // The cost and x; x = t makes value t itself, x = s needs no value.
  std::pair<double, std::int64_t> best_c(std::int64_t s, std::int64_t t, std::int64_t m) const {
    std::pair<double, std::int64_t> best{kNever, -1};
    if (t == s + 1 && !needs_out(s) && need_alone_[at(s)] <= m) best = {0, s};
    for (std::int64_t x = s + 1; x <= t; ++x) {
      if (!can_sweep(s, x, t, m)) continue;
      const std::int64_t left = m - size_[at(x)];
      const double v = forward(s, x) + (x < t ? c(x, t, left) + e(s, x, left) : e(s, t, left));
      if (v < best.first) best = {v, x};
    }
    return best;
  }

  // Without dropping value t, which comes in afterwards. x = s: step t - 1 can be reversed at once.
  std::pair<double, std::int64_t> best_e(std::int64_t s, std::int64_t t, std::int64_t m) const {
    std::pair<double, std::int64_t> best{kNever, -1};
    if (t == s + 1) return need_[at(s)] <= m ? std::pair<double, std::int64_t>{0, s} : best;
    if (!chain_.needs_in[at(t - 1)] && need_[at(t - 1)] <= m) best = {c(s, t - 1, m + size_[at(t)]), s};
    for (std::int64_t x = s + 1; x < t; ++x) {
      if (!can_sweep(s, x, t, m)) continue;
      const std::int64_t left = m - size_[at(x)];
      const double v = forward(s, x) + e(x, t, left) + e(s, x, left + size_[at(t)]);
      if (v < best.first) best = {v, x};
    }
    return best;
  }

  void sweep(std::int64_t s, std::int64_t x) {
    for (std::int64_t i = s; i < x; ++i) runs_.push_back({Step::Kind::run, chain_.forward[at(i)], -1, {}});
  }
  void back(std::int64_t step) {
    for (const TaskId t : chain_.back[at(step)]) runs_.push_back({Step::Kind::run, t, -1, {}});
  }

  void emit(bool with_t, std::int64_t s, std::int64_t t, std::int64_t m) {
    m = std::min(m, units_);
    if (with_t) {
      const auto [v, x] = best_e(s, t, m);
      if (x < 0 || c(s, t, m + size_[at(t)]) < v) return emit(false, s, t, m + size_[at(t)]);
      if (x == s) {
        back(t - 1);
        if (t > s + 1) emit(false, s, t - 1, m + size_[at(t)]);
        return;
      }
      sweep(s, x);
      emit(true, x, t, m - size_[at(x)]);
      return emit(true, s, x, m - size_[at(x)] + size_[at(t)]);
    }
    const auto [v, x] = best_c(s, t, m);
    TIDEMARK_CHECK(x >= 0);
    if (x == s) return back(s);
    sweep(s, x);
    if (x < t) emit(false, x, t, m - size_[at(x)]);
    emit(true, s, x, m - size_[at(x)]);
  }

  const Problem& p_;
  const ChainShape& chain_;
  std::int64_t n_;
  Bytes unit_ = 1;
  std::int64_t units_ = 0;
  std::vector<std::int64_t> size_;  // by value
  std::vector<double> before_;
  std::vector<std::int64_t> held_;        // by value t: backward buffers live before step t - 1
  std::vector<std::int64_t> need_;        // by step: beside values i and i + 1
  std::vector<std::int64_t> need_alone_;  // by step: beside value i
  std::vector<std::int64_t> sweep_;
  mutable std::vector<double> c_, e_;
  std::vector<Step> runs_;
};

// Units of memory for which the table takes so many seconds, at most 256 MiB for both tables; fewer than 32 are of no use.
std::int64_t units_for(std::size_t steps, double seconds) {
  constexpr double kSecondsASum = 2e-9, kMost = 1.6e7;
  const auto n = static_cast<double>(steps);
  const double sums = seconds / kSecondsASum;
  return static_cast<std::int64_t>(
      std::clamp(std::min(3 * sums / (n * n * n), kMost / (n * (n + 1))), 32.0, 4000.0));
}

// For a table, whatever the time limit, and of it: others may follow where packing fails.
constexpr double kMostSeconds = 2, kPart = 0.3;

}  // namespace

std::vector<Step> chain_runs(const Problem& problem, Bytes budget, double seconds, const Limit& limit) {
  const Outline o(problem);
  std::string against;
  const std::optional<ChainShape> chain = find_chain(o, against);
  if (!chain || chain->steps() > kLongestChain) return {};
  ChainDp dp(o, *chain, budget, units_for(chain->steps(), seconds));
  return dp.solve(limit) && dp.cost() < kNever ? dp.runs() : std::vector<Step>{};
}

Plan chain_dp(const Problem& problem, const Options& options) {
  const Outline o(problem);
  const ChainShape chain = chain_shape("chain_dp", o);
  if (chain.steps() > kLongestChain)
    fail(Error::Kind::unsupported, "[chain_dp] steps {} vs at most {}", chain.steps(), kLongestChain);
  const Limit limit = limit_of(options);
  const Bytes budget = options.budget >= 0 ? options.budget : store_all_live_peak(problem);
  const double seconds = options.effort < 0 ? kPart * options.time_limit : kMostSeconds;
  const std::int64_t units = units_for(chain.steps(), std::min(kMostSeconds, seconds));
  Plan plan;
  // Less where the packing of the answer is too large.
  for (const double share : {1.0, 0.98, 0.95, 0.9}) {
    ChainDp dp(o, chain, share == 1.0 ? budget : static_cast<Bytes>(static_cast<double>(budget) * share),
               units);
    if (!dp.solve(limit)) {
      plan = {.status = Plan::Status::timed_out, .budget = options.budget};
      plan.reason = "the time was up before the table was full";
      return plan;
    }
    if (dp.cost() == kNever) return nothing_found(o, options, "no plan of the chain fits the budget");
    plan = finish(problem, dp.runs(), options);
    if (plan.status != Plan::Status::infeasible) return plan;
  }
  return plan;
}

}  // namespace tidemark::plan::named
