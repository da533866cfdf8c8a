// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/stages.h"

#include <algorithm>
#include <cmath>

#ifdef TIDEMARK_WITH_HIGHS
#include "tidemark/plan/highs_limit.h"
#endif

namespace tidemark::plan {

#ifdef TIDEMARK_WITH_HIGHS
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// One column for each unknown that is not settled, one row for each inequality of docs/proofs.md among them
// that can bind; the multipliers sought are the rows' duals. Seconds are scaled by the floor, bytes by the
// budget.
class Program {
 public:
  Program(const Values& values, const Evaluation& facts, Bytes budget)
      : v_(values), e_(facts), k_(facts.stages() - 1), budget_(std::max<Bytes>(budget, 1)) {
    run_.assign(at((k_ + 1) * (k_ + 1)), {});
    stored_.assign(at(k_) + 1, std::vector<int>(at(v_.values()), kUnseen));
    for (int i = 0; i <= k_; ++i) {
      for (int j = i; j <= k_; ++j) run_[at(i * (k_ + 1) + j)].assign(at(v_.tasks()), kUnseen);
    }
    for (int i = 1; i <= k_; ++i) {
      for (int j = i; j <= k_; ++j) ranges_.push_back({i, j, {}, std::vector<bool>(at(v_.tasks()))});
    }
  }

  void build() {
    for (Range& r : ranges_) {
      for (TaskId t = 0; t < v_.tasks(); ++t) {
        if (e_.run_range(r.i, r.j, t).first == 1) use_run(r, t);
      }
      for (ValueId v : v_.outputs) {
        if (r.j == k_) add_keep(r, k_ + 1, v);
      }
    }
    for (int l = 2; l <= k_; ++l) {
      for (ValueId v : v_.reads[e_.facts()[at(l - 1)].task]) keeps_.emplace_back(l, v);
    }
    // Unknowns bring rows, rows bring unknowns.
    while (true) {
      Range* next = nullptr;
      for (Range& r : ranges_) {
        if (!r.todo.empty()) next = &r;
      }
      if (next == nullptr && keeps_.empty()) break;
      if (next != nullptr) {
        const TaskId t = next->todo.back();
        next->todo.pop_back();
        expand(*next, t);
      } else {
        const auto [l, v] = keeps_.back();
        keeps_.pop_back();
        for (Range& r : ranges_) {
          if (r.i < l && l <= r.j + 1) add_keep(r, l, v);
        }
      }
    }
    add_memory();
  }

  bool solve(int iterations, const Limit* limit, bool* infeasible);
  Certificate::Leaf leaf(int unit_exponent) const;

 private:
  static constexpr int kUnseen = -1, kZero = -2, kOne = -3;
  struct Range {
    int i, j;
    std::vector<TaskId> todo;
    std::vector<bool> used;
  };
  enum class Kind { need, keep, sum, floor, memory };
  struct Name {
    Kind kind;
    int i, j, at;
    std::int32_t who, value;
  };

  int column(double cost) {
    cost_.push_back(cost);
    return static_cast<int>(cost_.size()) - 1;
  }
  void row(const Name& name, double least) {
    names_.push_back(name);
    least_.push_back(least);
    start_.push_back(static_cast<int>(index_.size()));
  }
  void put(int column, double value) {
    if (column < 0) return;
    index_.push_back(column);
    value_.push_back(value);
  }
  int seen_run(int i, int j, TaskId t) { return run_[at(i * (k_ + 1) + j)][at(t)]; }

  int run(int i, int j, TaskId t) {
    int& c = run_[at(i * (k_ + 1) + j)][at(t)];
    if (c != kUnseen) return c;
    const auto [least, most] = e_.run_range(i, j, t);
    if (least == 1) return c = kOne;
    if (most == 0) return c = kZero;
    c = column(i == j ? v_.problem.tasks[at(t)].seconds / v_.floor_seconds : 0);
    if (i < j) {
      const int mine = c;
      std::vector<int> parts;
      bool one = false;
      for (int l = i; l <= j; ++l) {
        parts.push_back(run(l, l, t));
        one = one || parts.back() == kOne;
      }
      if (!one) {
        row({Kind::sum, i, j, 0, t, 0}, 0);
        for (int p : parts) put(p, 1);
        put(mine, -1);
      }
      return mine;
    }
    // Where it is open whether this is the first run: one of all the stages' is.
    const TaskId duty = v_.duty[at(t)];
    if (duty >= 0 && e_.usual_floor(duty) > 0 && v_.sole[at(t)]) {
      const int mine = c;
      if (!floor_done_.empty() && floor_done_[at(duty)]) return mine;
      floor_done_.resize(at(v_.tasks()), false);
      floor_done_[at(duty)] = true;
      std::vector<int> parts;
      for (int l = 0; l <= k_; ++l) parts.push_back(run(l, l, t));
      row({Kind::floor, 0, 0, 0, duty, 0}, 1);
      for (int p : parts) put(p, 1);
      return mine;
    }
    if (duty >= 0 && e_.usual_floor(duty) > 0) cost_[at(c)] -= v_.floor[at(duty)] / v_.floor_seconds;
    return c;
  }

  int stored(int i, ValueId v) {
    int& c = stored_[at(i)][at(v)];
    if (c != kUnseen) return c;
    const auto [least, most] = e_.stored_range(i, v);
    if (least == 1) return c = kOne;
    if (most == 0) return c = kZero;
    c = column(0);
    keeps_.emplace_back(i, v);
    return c;
  }

  void use_run(Range& r, TaskId t) {
    if (r.used[at(t)]) return;
    r.used[at(t)] = true;
    r.todo.push_back(t);
  }

  // The unknowns that can supply a value in a range of stages; false if it is there in any case.
  bool supply(Range& r, ValueId v, std::vector<int>& columns) {
    if (v_.resident[at(v)] && v_.given[at(v)]) return false;
    if (e_.stored_range(r.i, v).first == 1) return false;
    for (TaskId m : v_.makers[v]) {
      if (e_.run_range(r.i, r.j, m).first == 1) return false;
    }
    columns.push_back(stored(r.i, v));
    for (TaskId m : v_.makers[v]) {
      columns.push_back(run(r.i, r.j, m));
      if (columns.back() >= 0) use_run(r, m);
    }
    return true;
  }

  void expand(Range& r, TaskId t) {
    const int mine = run(r.i, r.j, t);
    for (ValueId v : v_.reads[t]) {
      std::vector<int> columns;
      if (!supply(r, v, columns)) continue;
      row({Kind::need, r.i, r.j, 0, t, v}, mine == kOne ? 1 : 0);
      for (int c : columns) put(c, 1);
      put(mine, -1);
    }
  }

  void add_keep(Range& r, int l, ValueId v) {
    std::vector<int> columns;
    if (!supply(r, v, columns)) return;
    const int mine = l > k_ ? kOne : stored(l, v);
    row({Kind::keep, r.i, r.j, l, 0, v}, mine == kOne ? 1 : 0);
    for (int c : columns) put(c, 1);
    put(mine, -1);
  }

  void add_memory() {
    for (int i = 1; i <= k_; ++i) {
      const Moment& m = e_.facts()[at(i - 1)];
      auto room = static_cast<double>(budget_ - m.held);
      for (ValueId v : v_.reads[m.task]) room -= static_cast<double>(v_.size[at(v)]);
      row({Kind::memory, i, 0, 0, 0, 0}, -room / static_cast<double>(budget_));
      for (ValueId v = 0; v < v_.values(); ++v)
        put(stored_[at(i)][at(v)], -static_cast<double>(v_.size[at(v)]) / static_cast<double>(budget_));
    }
  }

  const Values& v_;
  const Evaluation& e_;
  int k_;
  Bytes budget_;
  std::vector<std::vector<int>> run_, stored_;
  std::vector<Range> ranges_;
  std::vector<std::pair<int, ValueId>> keeps_;
  std::vector<bool> floor_done_;
  std::vector<double> cost_, least_, value_, dual_;
  std::vector<int> start_, index_;
  std::vector<Name> names_;
};

bool Program::solve(int iterations, const Limit* limit, bool* infeasible) {
  const auto columns = static_cast<HighsInt>(cost_.size()), rows = static_cast<HighsInt>(names_.size());
  if (columns == 0 || rows == 0) return false;
  void* highs = Highs_create();
  const std::vector<double> zero(cost_.size(), 0.0), one(cost_.size(), 1.0),
      most(names_.size(), Highs_getInfinity(highs));
  Highs_setBoolOptionValue(highs, "output_flag", 0);
  Highs_setIntOptionValue(highs, "threads", 1);
  Highs_setStringOptionValue(highs, "parallel", "off");
  Highs_setStringOptionValue(highs, "solver", "simplex");
  Highs_setStringOptionValue(highs, "presolve", "off");  // takes as long as it saves, or longer
  Highs_setIntOptionValue(highs, "simplex_iteration_limit", iterations);
  if (limit != nullptr) heed_limit(highs, *limit);
  bool ok =
      Highs_passLp(highs, columns, rows, static_cast<HighsInt>(index_.size()), kHighsMatrixFormatRowwise,
                   kHighsObjSenseMinimize, 0.0, cost_.data(), zero.data(), one.data(), least_.data(),
                   most.data(), start_.data(), index_.data(), value_.data()) != kHighsStatusError;
  ok = ok && Highs_run(highs) != kHighsStatusError;
  if (ok) {
    *infeasible = Highs_getModelStatus(highs) == kHighsModelStatusInfeasible;
    dual_.resize(names_.size());
    std::vector<double> a(cost_.size()), b(cost_.size()), c(names_.size());
    ok = Highs_getSolution(highs, a.data(), b.data(), c.data(), dual_.data()) == kHighsStatusOk;
  }
  Highs_destroy(highs);
  return ok;
}

Certificate::Leaf Program::leaf(int unit_exponent) const {
  Certificate::Leaf leaf;
  leaf.prices.assign(at(k_), 0.0);
  for (std::size_t r = 0; r < names_.size(); ++r) {
    const Name& n = names_[r];
    const double seconds = dual_[r] * v_.floor_seconds;
    if (!(seconds > 0) && n.kind != Kind::floor) continue;
    const auto y = static_cast<Units>(std::ldexp(std::max(seconds, 0.0), -unit_exponent));
    switch (n.kind) {
      case Kind::need:
        leaf.need.push_back({n.i, n.j, n.who, n.value, y});
        break;
      case Kind::keep:
        leaf.keep.push_back({n.i, n.j, n.at, n.value, y});
        break;
      case Kind::sum:
        leaf.sum.push_back({n.i, n.j, n.who, y});
        break;
      case Kind::floor:
        leaf.floors.push_back({n.who, y});
        break;
      case Kind::memory:
        leaf.prices[at(n.i - 1)] = seconds / static_cast<double>(budget_);
        break;
    }
  }
  return leaf;
}

}  // namespace

bool stages_available() { return true; }

StageBound bound_stages(const Values& values, const std::vector<TaskId>& moments, Bytes budget,
                        int iterations, const Limit* limit) {
  StageBound out;
  const int unit = unit_exponent_for(values.floor_seconds);
  const Evaluation facts(values, moments, unit, budget);
  if (!facts.chain() || !values.problem.tiers.empty() || !(values.floor_seconds > 0)) return out;
  Program program(values, facts, budget);
  program.build();
  if (!program.solve(iterations, limit, &out.infeasible)) return out;
  out.certificate.moments = moments;
  out.certificate.unit_exponent = unit;
  out.certificate.leaves.push_back(program.leaf(unit));
  out.seconds = facts.seconds(out.certificate.leaves[0]);
  return out;
}

#else

bool stages_available() { return false; }

StageBound bound_stages(const Values&, const std::vector<TaskId>&, Bytes, int, const Limit*) { return {}; }

#endif

}  // namespace tidemark::plan
