// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/stages.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tidemark/plan/branch.h"

namespace tidemark::plan {

bool stages_available() { return LinearProgram::available(); }

StageBound bound_of(const StageProgram& program) {
  StageBound out;
  out.certificate.moments = program.moments();
  out.certificate.unit_exponent = program.unit_exponent();
  out.certificate.leaves.push_back(program.leaf());
  out.seconds = program.facts().seconds(out.certificate.leaves[0]);
  return out;
}

StageBound bound_stages(const Values& values, const std::vector<TaskId>& moments, Bytes budget,
                        int iterations, const Limit* limit) {
  if (!values.problem.tiers.empty() || !(values.floor_seconds > 0) ||
      !Evaluation(values, moments, 0, budget).chain())
    return {};
  StageProgram program(values, moments, {.budget = budget, .iterations = iterations, .limit = limit});
  const StageProgram::Outcome outcome = program.solve({});
  if (outcome == StageProgram::Outcome::failed) return {};
  StageBound out = bound_of(program);
  out.infeasible = outcome == StageProgram::Outcome::infeasible;
  if (!out.infeasible) out.over = program.over();
  return out;
}

namespace {

// Splits the lowest leaf on what its program leaves open, as Tree of branch.cpp does with cuts.
class StageTree {
 public:
  StageTree(StageProgram& program, const StageBranchOptions& options)
      : p_(program), o_(options), floor_(program.columns().values().floor_seconds) {}

  StageBound grow() {
    StageBound out = bound_of(p_);
    const double constant = out.seconds / floor_ - p_.program().objective();
    nodes_.push_back(solved());
    int lowest = 0;
    for (int leaves = 1; leaves < o_.leaves; ++leaves) {
      const Node& worst = nodes_[at(lowest)];
      if (worst.open.column < 0 || (worst.seconds + constant) * floor_ >= o_.enough || !o_.go_on()) break;
      split(lowest);
      lowest = lowest_leaf(nodes_);
    }
    StageBound found;
    found.certificate.moments = p_.moments();
    found.certificate.unit_exponent = p_.unit_exponent();
    found.seconds = std::numeric_limits<double>::infinity();
    std::vector<int> stack{0};
    while (!stack.empty()) {
      Node& node = nodes_[at(stack.back())];
      stack.pop_back();
      if (node.left >= 0) {
        stack.push_back(node.left + 1);
        stack.push_back(node.left);
        continue;
      }
      found.certificate.leaves.push_back(leaf(node));
      found.seconds = std::min(found.seconds, p_.facts().seconds(found.certificate.leaves.back()));
    }
    if (found.seconds <= out.seconds) found = std::move(out);
    if (nodes_[at(lowest)].open.column < 0 && !nodes_[at(lowest)].basis.columns.empty()) {
      solve(nodes_[at(lowest)].fixed, nodes_[at(lowest)].basis);
      found.over = p_.over();
    }
    return found;
  }

 private:
  // Stored or not: an unknown of which a solution says neither.
  struct Open {
    int column = -1, moment = 0;
    BufferId value = -1;
  };
  struct Node {
    std::vector<std::pair<Open, int>> fixed;
    double seconds = 0;  // the program's objective, in floors
    std::vector<double> multipliers;
    LinearProgram::Basis basis;
    Open open;
    int left = -1;  // does not store; left + 1 does
  };
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

  Certificate::Leaf leaf(const Node& node) const {
    Certificate::Leaf out = p_.leaf(node.multipliers);
    for (const auto& [which, value] : node.fixed)
      out.decisions.push_back({which.moment, which.value, value == 1});
    return out;
  }

  // The one whose bytes are worth most.
  Open most_open() const {
    Open best;
    double most = 0;
    const StageColumns& columns = p_.columns();
    for (int i = 1; i <= columns.moments(); ++i) {
      for (BufferId v = 0; v < columns.values().values(); ++v) {
        const int c = columns.stored(i, v);
        if (c < 0) continue;
        const double x = p_.program().solution()[at(c)], part = std::min(x, 1 - x);
        const double weight = part * p_.price(i) * static_cast<double>(columns.values().size[at(v)]);
        if (part < 1e-6 || weight <= most) continue;
        most = weight;
        best = {c, i, v};
      }
    }
    return best;
  }

  Node solved() const {
    Node node;
    node.seconds = p_.program().objective();
    node.multipliers = p_.program().multipliers();
    node.basis = p_.program().basis();
    node.open = most_open();
    return node;
  }

  // No plan has the decisions of a node whose program has no solution: the multipliers of the node above and enough of the ray prove as much as is asked for.
  Node along_ray(const Node& above, std::vector<std::pair<Open, int>> fixed) const {
    const std::vector<double> ray = p_.program().multipliers();
    Node node;
    node.fixed = std::move(fixed);
    for (const double sign : {1.0, -1.0}) {
      for (int power = 0; power < 7; ++power) {
        node.multipliers = above.multipliers;
        node.multipliers.resize(ray.size());
        for (std::size_t r = 0; r < ray.size(); ++r)
          node.multipliers[r] = std::max(0.0, node.multipliers[r] + sign * std::pow(10.0, power) * ray[r]);
        node.seconds = std::numeric_limits<double>::infinity();
        if (p_.facts().seconds(leaf(node)) >= std::min(o_.enough, 4 * floor_)) return node;
      }
    }
    node.multipliers = above.multipliers;
    node.seconds = above.seconds;
    return node;
  }

  // What is too large for what is left beside the values that are decided to be stored.
  std::vector<int> without_room(const std::vector<std::pair<Open, int>>& fixed) const {
    const StageColumns& columns = p_.columns();
    std::vector<int> out;
    for (int i = 1; i <= columns.moments(); ++i) {
      Bytes room = p_.facts().room(i);
      for (const auto& [which, value] : fixed)
        if (which.moment == i && value == 1) room -= columns.values().size[at(which.value)];
      if (room == p_.facts().room(i)) continue;
      for (BufferId v = 0; v < columns.values().values(); ++v) {
        if (columns.stored(i, v) >= 0 && p_.facts().stored_range(i, v, room).second == 0)
          out.push_back(columns.stored(i, v));
      }
    }
    return out;
  }

  StageProgram::Outcome solve(const std::vector<std::pair<Open, int>>& fixed,
                              const LinearProgram::Basis& from) {
    constexpr StageProgram::Rounds kRounds{.least = 1e-3, .rounds = 1, .ways = 3};
    const std::vector<int> out = without_room(fixed);
    for (const int column : out) p_.program().fix(column, 0);
    for (const auto& [which, value] : fixed) p_.program().fix(which.column, value);
    p_.program().start_from(from);
    const StageProgram::Outcome outcome = p_.solve(kRounds);
    for (const int column : out) p_.program().fix(column, -1);
    for (const auto& [which, value] : fixed) p_.program().fix(which.column, -1);
    return outcome;
  }

  void split(int parent) {
    for (int stored = 0; stored < 2; ++stored) {
      const Node& above = nodes_[at(parent)];
      std::vector<std::pair<Open, int>> fixed = above.fixed;
      fixed.emplace_back(above.open, stored);
      const StageProgram::Outcome outcome = solve(fixed, above.basis);
      Node child;
      if (outcome == StageProgram::Outcome::infeasible) {
        child = along_ray(above, std::move(fixed));
      } else {
        if (outcome != StageProgram::Outcome::failed) child = solved();
        if (outcome == StageProgram::Outcome::failed || child.seconds < above.seconds) {
          child.multipliers = above.multipliers;
          child.seconds = above.seconds;
        }
        child.fixed = std::move(fixed);
      }
      children_[stored] = std::move(child);
    }
    nodes_[at(parent)].left = static_cast<int>(nodes_.size());
    nodes_[at(parent)].multipliers = {};
    nodes_[at(parent)].basis = {};
    for (Node& child : children_) nodes_.push_back(std::move(child));
  }

  StageProgram& p_;
  const StageBranchOptions& o_;
  double floor_;
  std::vector<Node> nodes_;
  Node children_[2];
};

}  // namespace

StageBound branch_stages(const StageProgram& program, const StageBranchOptions& options) {
  // Without the rows that do not bind.
  StageProgram lean(program, program.moments());
  if (lean.solve({.least = 1e-3, .rounds = 4, .ways = 20}) != StageProgram::Outcome::solved) return {};
  return StageTree(lean, options).grow();
}

}  // namespace tidemark::plan
