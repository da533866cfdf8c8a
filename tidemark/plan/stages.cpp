// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/stages.h"

#include <algorithm>
#include <cmath>
#include <memory>

#ifdef TIDEMARK_WITH_HIGHS
#include "tidemark/plan/branch.h"
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

  // Hands the rows to HiGHS. False: there is nothing to solve.
  bool open(int iterations, const Limit* limit);
  // As they stand, with what is fixed. False: no multipliers came of it. Where floating point sees no solution, they are a ray.
  bool solve(bool* infeasible);
  // An unknown, or what it is free to be again: -1.
  void fix(int column, int value);
  Certificate::Leaf leaf(int unit_exponent) const;
  std::vector<double> multipliers() const { return dual_; }
  void set_multipliers(std::vector<double> dual) { dual_ = std::move(dual); }
  // Stored or not: the largest unknown of which the last solution says neither; -1: none.
  struct Open {
    int column = -1, moment = 0;
    ValueId value = -1;
  };
  Open most_open() const;
  std::vector<std::pair<Bytes, TaskId>> over() const;

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
  std::vector<double> cost_, least_, value_, dual_, solution_;
  struct Close {
    void operator()(void* highs) const { Highs_destroy(highs); }
  };
  std::unique_ptr<void, Close> highs_;
  std::vector<int> start_, index_;
  std::vector<Name> names_;
};

bool Program::open(int iterations, const Limit* limit) {
  const auto columns = static_cast<HighsInt>(cost_.size()), rows = static_cast<HighsInt>(names_.size());
  if (columns == 0 || rows == 0) return false;
  highs_.reset(Highs_create());
  void* highs = highs_.get();
  const std::vector<double> zero(cost_.size(), 0.0), one(cost_.size(), 1.0),
      most(names_.size(), Highs_getInfinity(highs));
  Highs_setBoolOptionValue(highs, "output_flag", 0);
  Highs_setIntOptionValue(highs, "threads", 1);
  Highs_setStringOptionValue(highs, "parallel", "off");
  Highs_setStringOptionValue(highs, "solver", "simplex");
  Highs_setStringOptionValue(highs, "presolve", "off");  // takes as long as it saves, or longer
  Highs_setIntOptionValue(highs, "simplex_iteration_limit", iterations);
  if (limit != nullptr) heed_limit(highs, *limit);
  return Highs_passLp(highs, columns, rows, static_cast<HighsInt>(index_.size()), kHighsMatrixFormatRowwise,
                      kHighsObjSenseMinimize, 0.0, cost_.data(), zero.data(), one.data(), least_.data(),
                      most.data(), start_.data(), index_.data(), value_.data()) != kHighsStatusError;
}

void Program::fix(int column, int value) {
  Highs_changeColBounds(highs_.get(), column, value == 1 ? 1 : 0, value == 0 ? 0 : 1);
}

bool Program::solve(bool* infeasible) {
  void* highs = highs_.get();
  Highs_clearSolver(highs);  // from the last basis takes as long, and far longer where there is no solution
  if (Highs_run(highs) == kHighsStatusError) return false;
  *infeasible = Highs_getModelStatus(highs) == kHighsModelStatusInfeasible;
  dual_.resize(names_.size());
  if (*infeasible) {
    HighsInt has = 0;
    return Highs_getDualRay(highs, &has, dual_.data()) == kHighsStatusOk && has != 0;
  }
  solution_.resize(cost_.size());
  std::vector<double> reduced(cost_.size()), activity(names_.size());
  return Highs_getSolution(highs, solution_.data(), reduced.data(), activity.data(), dual_.data()) ==
         kHighsStatusOk;
}

Program::Open Program::most_open() const {
  Open best;
  double most = 0;
  for (int i = 1; i <= k_; ++i) {
    for (ValueId v = 0; v < v_.values(); ++v) {
      const int c = stored_[at(i)][at(v)];
      if (c < 0) continue;
      const double x = solution_[at(c)], weight = std::min(x, 1 - x) * static_cast<double>(v_.size[at(v)]);
      if (std::min(x, 1 - x) < 1e-6 || weight <= most) continue;
      most = weight;
      best = {c, i, v};
    }
  }
  return best;
}

// Each stage carried out as the solution has it: what surely first runs there at its place in the list, what is made again just before
// whoever reads it first. A value is live from the start of the stage if it is stored, else from when it is made, to its last reader or the next moment.
std::vector<std::pair<Bytes, TaskId>> Program::over() const {
  const auto solved = [&](int column) {
    return column >= 0 ? solution_[at(column)] : column == kOne ? 1.0 : 0.0;
  };
  const TaskId n = v_.tasks();
  std::vector<std::pair<Bytes, TaskId>> out;
  std::vector<bool> is_output(at(v_.values()));
  for (ValueId v : v_.outputs) is_output[at(v)] = true;
  for (int i = 1; i <= k_; ++i) {
    const auto& runs = run_[at(i * (k_ + 1) + i)];
    const auto next = [&](ValueId v) {
      return i < k_ ? solved(stored_[at(i + 1)][at(v)]) : is_output[at(v)] ? 1.0 : 0.0;
    };
    std::vector<TaskId> place(at(n), n);
    std::vector<double> part(at(n));
    for (TaskId t = n - 1; t >= 0; --t) {
      const bool sure = e_.run_range(i, i, t).first == 1;
      part[at(t)] = sure ? 1 : solved(runs[at(t)]);
      if (sure) place[at(t)] = t;
      if (sure || part[at(t)] <= 0) continue;
      for (ValueId v : v_.writes[t]) {
        for (TaskId r : v_.readers[v]) {
          if (part[at(r)] > 0) place[at(t)] = std::min(place[at(t)], place[at(r)]);
        }
      }
    }
    // Of each value, from place to place, how much of it is live before the place.
    std::vector<std::vector<std::pair<TaskId, double>>> live(at(v_.values()));
    std::vector<double> change(at(n) + 2);
    for (ValueId v = 0; v < v_.values(); ++v) {
      if (v_.size[at(v)] == 0) continue;
      std::vector<std::pair<TaskId, double>> uses;
      for (TaskId r : v_.readers[v]) {
        if (part[at(r)] > 0) uses.emplace_back(place[at(r)], part[at(r)]);
      }
      if (next(v) > 0) uses.emplace_back(n, next(v));
      if (uses.empty()) continue;
      std::sort(uses.begin(), uses.end());
      for (std::size_t u = uses.size() - 1; u > 0; --u)
        uses[u - 1].second = std::max(uses[u - 1].second, uses[u].second);
      TaskId begin = n;
      for (TaskId m : v_.makers[v]) {
        if (part[at(m)] > 0) begin = std::min(begin, place[at(m)]);
      }
      const double from_start = solved(stored_[at(i)][at(v)]);
      TaskId last = 0;
      for (const auto& [at_place, needed] : uses) {
        const auto add = [&](TaskId from, double amount) {
          if (from >= at_place || amount <= 0) return;
          live[at(v)].emplace_back(from, amount);
          live[at(v)].emplace_back(at_place, -amount);
        };
        add(last, std::min(from_start, needed));
        add(std::max(last, begin), needed - std::min(from_start, needed));
        last = std::max(last, at_place);
      }
      for (const auto& [at_place, amount] : live[at(v)])
        change[at(at_place)] += amount * static_cast<double>(v_.size[at(v)]);
    }
    double total = 0;
    for (TaskId t = 0; t < n; ++t) {
      total += change[at(t)];
      if (place[at(t)] != t || part[at(t)] < 1 || !v_.sole[at(t)] || t == e_.facts()[at(i - 1)].task)
        continue;
      std::vector<ValueId> fresh;
      auto own = static_cast<double>(held_in_run(v_, t, fresh) - v_.resident_bytes);
      for (ValueId v : v_.reads[t]) own += static_cast<double>(v_.size[at(v)]);
      double bytes = total + own + static_cast<double>(v_.resident_bytes - budget_);
      for (const auto& lists : {v_.reads[t], v_.writes[t]}) {
        for (ValueId v : lists) {
          for (const auto& [from, amount] : live[at(v)]) {
            if (from <= t) bytes -= amount * static_cast<double>(v_.size[at(v)]);
          }
        }
      }
      if (bytes > 0) out.emplace_back(static_cast<Bytes>(std::min(own, bytes)), t);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  return out;
}

Certificate::Leaf Program::leaf(int unit_exponent) const {
  Certificate::Leaf leaf;
  leaf.prices.assign(at(k_), 0.0);
  // Multipliers along a ray grow past what a proof may hold. What they prove is concave in them and not below 0 where all are 0, so
  // that a part of them proves at least that part.
  double most = 0;
  for (std::size_t r = 0; r < names_.size(); ++r) {
    if (names_[r].kind != Kind::memory) most = std::max(most, dual_[r] * v_.floor_seconds);
  }
  const double part =
      std::min(1.0, std::ldexp(static_cast<double>(Certificate::kMost), unit_exponent) / most);
  for (std::size_t r = 0; r < names_.size(); ++r) {
    const Name& n = names_[r];
    const double seconds = part * dual_[r] * v_.floor_seconds;
    if (!(seconds > 0) && n.kind != Kind::floor) continue;
    const auto y =
        std::min(static_cast<Units>(std::ldexp(std::max(seconds, 0.0), -unit_exponent)), Certificate::kMost);
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
  if (!program.open(iterations, limit) || !program.solve(&out.infeasible)) return out;
  out.certificate.moments = moments;
  out.certificate.unit_exponent = unit;
  out.certificate.leaves.push_back(program.leaf(unit));
  out.seconds = facts.seconds(out.certificate.leaves[0]);
  if (!out.infeasible) out.over = program.over();
  return out;
}

namespace {

// Splits the lowest leaf on what its program leaves open, as Tree of branch.cpp does with cuts.
class StageTree {
 public:
  StageTree(const Values& values, const std::vector<TaskId>& moments, const StageBranchOptions& options)
      : o_(options),
        unit_(unit_exponent_for(values.floor_seconds)),
        floor_(values.floor_seconds),
        facts_(values, moments, unit_, options.budget),
        program_(values, facts_, options.budget) {}

  StageBound grow() {
    StageBound out;
    if (!facts_.chain()) return out;
    program_.build();
    if (!program_.open(o_.iterations, o_.limit)) return out;
    nodes_.emplace_back();
    if (!solve(nodes_[0])) return out;
    int lowest = 0;
    for (int leaves = 1; leaves < o_.leaves; ++leaves) {
      const Node& worst = nodes_[at(lowest)];
      if (worst.open.column < 0 || worst.seconds >= o_.enough || !o_.go_on()) break;
      if (!split(lowest)) break;
      lowest = lowest_leaf(nodes_);
    }
    out.seconds = nodes_[at(lowest_leaf(nodes_))].seconds;
    for (const Moment& m : facts_.facts()) out.certificate.moments.push_back(m.task);
    out.certificate.unit_exponent = unit_;
    std::vector<int> stack{0};
    while (!stack.empty()) {
      const Node& node = nodes_[at(stack.back())];
      stack.pop_back();
      if (node.left < 0) {
        out.certificate.leaves.push_back(node.leaf);
        continue;
      }
      stack.push_back(node.left + 1);
      stack.push_back(node.left);
    }
    return out;
  }

 private:
  struct Node {
    std::vector<std::pair<Program::Open, int>> fixed;
    double seconds = 0;
    Certificate::Leaf leaf;
    std::vector<double> multipliers;
    Program::Open open;
    int left = -1;  // does not store; left + 1 does
  };

  // What the multipliers prove under the node's decisions.
  double proven(Node& node) {
    node.leaf = program_.leaf(unit_);
    for (const auto& [which, value] : node.fixed)
      node.leaf.decisions.push_back({which.moment, which.value, value == 1});
    return node.seconds = facts_.seconds(node.leaf);
  }

  // Where a ray shows that no plan has these decisions, the multipliers of the node above and enough of the ray prove as much as is asked for.
  bool along_ray(Node& node, const std::vector<double>& above) {
    const std::vector<double> ray = program_.multipliers();
    for (const double sign : {1.0, -1.0}) {
      for (int power = 0; power < 7; ++power) {
        const double times = std::pow(10.0, power);
        std::vector<double> sum = above;
        for (std::size_t r = 0; r < sum.size(); ++r) sum[r] = std::max(0.0, sum[r] + sign * times * ray[r]);
        program_.set_multipliers(std::move(sum));
        if (proven(node) >= std::min(o_.enough, 4 * floor_)) return true;
      }
    }
    return false;
  }

  bool solve(Node& node, const std::vector<double>* above = nullptr) {
    for (const auto& [which, value] : node.fixed) program_.fix(which.column, value);
    bool infeasible = false;
    bool good = program_.solve(&infeasible);
    for (const auto& [which, value] : node.fixed) program_.fix(which.column, -1);
    if (!good) return false;
    if (infeasible) return above != nullptr && along_ray(node, *above);
    node.open = program_.most_open();
    node.multipliers = program_.multipliers();
    proven(node);
    return true;
  }

  bool split(int parent) {
    Node children[2];
    for (int stored = 0; stored < 2; ++stored) {
      Node& child = children[stored];
      child.fixed = nodes_[at(parent)].fixed;
      child.fixed.emplace_back(nodes_[at(parent)].open, stored);
      if (!solve(child, &nodes_[at(parent)].multipliers)) return false;
    }
    nodes_[at(parent)].left = static_cast<int>(nodes_.size());
    nodes_[at(parent)].leaf = {};
    for (Node& child : children) nodes_.push_back(std::move(child));
    return true;
  }

  const StageBranchOptions& o_;
  int unit_;
  double floor_;
  Evaluation facts_;
  Program program_;
  std::vector<Node> nodes_;
};

}  // namespace

StageBound branch_stages(const Values& values, const std::vector<TaskId>& moments,
                         const StageBranchOptions& options) {
  if (!values.problem.tiers.empty() || !(values.floor_seconds > 0)) return {};
  return StageTree(values, moments, options).grow();
}

#else

bool stages_available() { return false; }

StageBound bound_stages(const Values&, const std::vector<TaskId>&, Bytes, int, const Limit*) { return {}; }

StageBound branch_stages(const Values&, const std::vector<TaskId>&, const StageBranchOptions&) { return {}; }

#endif

}  // namespace tidemark::plan
