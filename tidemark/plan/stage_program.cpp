// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/stage_program.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace tidemark::plan {

using Range = StageColumns::Range;

StageProgram::StageProgram(const Values& values, const std::vector<TaskId>& moments,
                           const StageProgramOptions& options)
    : v_(values),
      o_(options),
      moments_(moments),
      unit_exponent_(unit_exponent_for(values.floor_seconds)),
      facts_(std::make_unique<Evaluation>(values, moments, unit_exponent_, options.budget)),
      columns_(values, *facts_, options.budget),
      finder_(columns_),
      program_(columns_.cost(), options.iterations, options.limit) {
  add_first_rows();
}

int StageProgram::place_of(TaskId moment) const {
  const auto found = std::find(moments_.begin(), moments_.end(), moment);
  return found == moments_.end() ? 0 : static_cast<int>(found - moments_.begin()) + 1;
}

StageProgram::StageProgram(const StageProgram& from, const std::vector<TaskId>& moments)
    : StageProgram(from.v_, moments, from.o_) {
  const auto place = [&](int theirs) { return place_of(from.moments_[at(theirs - 1)]); };
  const LinearProgram::Basis old = from.program_.basis();
  if (old.columns.empty()) return;
  // Ways between moments that are still there hold as they are; a stage that has been cut counts with all its parts. Those that do not bind are left: they are
  // found again where they do.
  std::vector<std::int32_t> row_of(from.rows_.size(), -1);
  for (std::size_t r = 0; r < from.rows_.size(); ++r) {
    const Row& row = from.rows_[r];
    if (row.kind != Row::Kind::path) {
      const std::int32_t which = row.kind == Row::Kind::memory ? place(row.which) : row.which;
      const auto same = [&](const Row& other) { return other.kind == row.kind && other.which == which; };
      const auto found = std::find_if(rows_.begin(), rows_.end(), same);
      if (found != rows_.end()) row_of[r] = static_cast<std::int32_t>(found - rows_.begin());
      continue;
    }
    if (r >= old.rows.size() || old.rows[r] == LinearProgram::Basis::At::inside) continue;
    StagePath path = from.paths_[at(row.which)];
    const bool to_the_end = path.j == from.columns_.moments();
    const int i = place(path.i), next = to_the_end ? columns_.moments() + 1 : place(path.j + 1);
    if (i == 0 || next <= i) continue;
    path.i = i;
    path.j = next - 1;
    if (wide(path) && !columns_.first_is_open(path.task)) continue;
    row_of[r] = static_cast<std::int32_t>(rows_.size());
    add(std::move(path));
  }
  // What was in the basis stays there; new unknowns are 0 and new rows are slack.
  LinearProgram::Basis basis;
  basis.columns.assign(at(columns_.count()), LinearProgram::Basis::At::lower);
  basis.rows.assign(rows_.size(), LinearProgram::Basis::At::inside);
  const auto take = [&](int mine, int theirs) {
    if (mine >= 0 && theirs >= 0) basis.columns[at(mine)] = old.columns[at(theirs)];
  };
  for (int m = 1; m <= from.columns_.moments(); ++m) {
    const int i = place(m);
    if (i == 0) continue;
    for (BufferId v = 0; v < v_.values(); ++v) take(columns_.stored(i, v), from.columns_.stored(m, v));
    for (TaskId t = 0; t < v_.tasks(); ++t) take(columns_.run(i, t), from.columns_.run(m, t));
  }
  for (TaskId t = 0; t < v_.tasks(); ++t) take(columns_.run(0, t), from.columns_.run(0, t));
  for (std::size_t r = 0; r < old.rows.size(); ++r) {
    if (row_of[r] >= 0) basis.rows[at(row_of[r])] = old.rows[r];
  }
  program_.start_from(basis);
}

// The demand of a first run that may be in any of several stages, or before or behind them.
bool StageProgram::wide(const StagePath& path) const {
  return path.task >= 0 && path.i < path.j && columns_.ranges(path.i, path.j)[at(path.task)] != Range::one;
}

// Seconds are in floors, bytes in budgets.
void StageProgram::add_first_rows() {
  const auto budget = static_cast<double>(std::max<Bytes>(o_.budget, 1));
  std::vector<LinearProgram::Entry> entries;
  for (int i = 1; i <= columns_.moments(); ++i) {
    entries.clear();
    for (BufferId v = 0; v < v_.values(); ++v) {
      if (columns_.stored(i, v) >= 0 && v_.size[at(v)] > 0)
        entries.push_back({columns_.stored(i, v), -static_cast<double>(v_.size[at(v)]) / budget});
    }
    rows_.push_back({Row::Kind::memory, i});
    program_.add_row(entries, -static_cast<double>(facts_->room(i)) / budget);
  }
  for (TaskId t : columns_.floors()) {
    entries.clear();
    for (int l = 0; l <= columns_.moments(); ++l) {
      if (columns_.run(l, t) >= 0) entries.push_back({columns_.run(l, t), 1});
    }
    rows_.push_back({Row::Kind::floor, t});
    program_.add_row(entries, 1);
  }
}

void StageProgram::add(StagePath path) {
  std::vector<LinearProgram::Entry> all, entries;
  double least = 0;
  const auto add = [&](int column, double times) {
    if (column >= 0) all.push_back({column, times});
    if (column == StageColumns::kOne) least -= times;
  };
  if (path.task >= 0) {
    const bool sure = columns_.ranges(path.i, path.j)[at(path.task)] == Range::one;
    add(sure || wide(path) ? StageColumns::kOne : columns_.run(path.i, path.task), -1);
    for (int l = 0; l <= columns_.moments() && wide(path); ++l) {
      if (l < path.i || path.j < l) add(columns_.run(l, path.task), 1);
    }
  } else {
    const bool sure = path.j == columns_.moments() || facts_->stored_range(path.j + 1, path.value).first == 1;
    add(sure ? StageColumns::kOne : columns_.stored(path.j + 1, path.value), -1);
  }
  add(columns_.stored(path.i, path.value), 1);
  for (const StagePath::Hop& hop : path.hops) {
    if (hop.through >= 0) add(columns_.stored(path.i, hop.through), hop.times);
    for (int l = path.i; l <= path.j && hop.through < 0; ++l) add(columns_.run(l, hop.maker), hop.times);
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.column < b.column; });
  for (const LinearProgram::Entry& e : all) {
    if (entries.empty() || entries.back().column != e.column) {
      entries.push_back(e);
    } else {
      entries.back().value += e.value;
    }
  }
  rows_.push_back({Row::Kind::path, static_cast<std::int32_t>(paths_.size())});
  program_.add_row(entries, least);
  paths_.push_back(std::move(path));
}

StageProgram::Outcome StageProgram::solve(const Rounds& rounds) {
  constexpr double kLook = 2e-8;  // seconds a task and range of stages, to look for broken ways
  const int k = columns_.moments();
  for (int round = 0;; ++round) {
    const Outcome outcome = program_.run();
    if (outcome != Outcome::solved || round == rounds.rounds) return outcome;
    if (o_.limit != nullptr && o_.limit->time_is_up()) return outcome;
    std::vector<StagePath> broken = finder_.broken(program_.solution(), rounds.least, rounds.ways);
    worked(0.5 * k * (k + 1) * v_.tasks(), kLook);
    if (broken.empty()) return outcome;
    for (StagePath& path : broken) add(std::move(path));
  }
}

namespace {

// A row of the certificate that several ways may have in common.
struct Share {
  int i, j;
  std::int32_t who, value;
  double seconds;
  auto key() const { return std::tie(i, j, who, value); }
};

void join(std::vector<Share>& shares) {
  std::sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) { return a.key() < b.key(); });
  std::size_t kept = 0;
  for (const Share& s : std::vector<Share>(shares)) {
    if (kept > 0 && shares[kept - 1].key() == s.key()) {
      shares[kept - 1].seconds += s.seconds;
    } else {
      shares[kept++] = s;
    }
  }
  shares.resize(kept);
}

}  // namespace

Certificate::Leaf StageProgram::leaf(const std::vector<double>& multipliers) const {
  std::vector<Share> needs, keeps, sums, firsts;
  double most = 0;
  for (std::size_t r = 0; r < multipliers.size(); ++r) {
    const double seconds = multipliers[r] * v_.floor_seconds;
    if (rows_[r].kind != Row::Kind::path || !(seconds > 0)) continue;
    const StagePath& p = paths_[at(rows_[r].which)];
    if (p.task >= 0) {
      needs.push_back({p.i, p.j, p.task, p.value, seconds});
      if (wide(p)) firsts.push_back({p.i, p.j, p.task, 0, seconds});
    } else {
      keeps.push_back({p.i, p.j, p.j + 1, p.value, seconds});
    }
    for (const StagePath::Hop& hop : p.hops) {
      const double amount = hop.times * seconds;
      if (hop.through >= 0) needs.push_back({p.i, p.j, hop.maker, hop.through, amount});
      if (hop.through < 0 && p.i < p.j) sums.push_back({p.i, p.j, hop.maker, 0, amount});
    }
  }
  for (auto* shares : {&needs, &keeps, &sums, &firsts}) {
    join(*shares);
    for (const Share& s : *shares) most = std::max(most, s.seconds);
  }
  // Multipliers along a ray grow past what a proof may hold. What they prove is concave in them and not below 0 where all are 0, so
  // that a part of them proves at least that part.
  const double largest = std::ldexp(static_cast<double>(Certificate::kMost), unit_exponent_);
  const double part = most > largest ? largest / most : 1;
  const auto units = [&](double seconds) {
    const double y = std::ldexp(std::max(part * seconds, 0.0), -unit_exponent_);
    return y < static_cast<double>(Certificate::kMost) ? static_cast<Units>(y) : Certificate::kMost;
  };
  Certificate::Leaf leaf;
  leaf.prices.assign(moments_.size(), 0.0);
  for (const Share& s : needs) leaf.need.push_back({s.i, s.j, s.who, s.value, units(s.seconds)});
  for (const Share& s : keeps) leaf.keep.push_back({s.i, s.j, s.who, s.value, units(s.seconds)});
  const auto all_from = [](int from, int to) {
    std::vector<std::int32_t> ends(at(to - from + 1));
    std::iota(ends.begin(), ends.end(), from);
    return ends;
  };
  for (const Share& s : sums) leaf.parts.push_back({s.who, units(s.seconds), all_from(s.i, s.j + 1)});
  // What surely runs does so in the stages i to j or in one of the others.
  for (const Share& s : firsts) {
    std::vector<std::int32_t> ends = all_from(0, columns_.moments() + 1);
    ends.erase(ends.begin() + s.i + 1, ends.begin() + s.j + 1);
    leaf.parts.push_back({s.who, units(s.seconds), std::move(ends)});
  }
  for (std::size_t r = 0; r < multipliers.size(); ++r) {
    if (rows_[r].kind != Row::Kind::memory) continue;
    const double seconds = std::max(multipliers[r], 0.0) * v_.floor_seconds;
    leaf.prices[at(rows_[r].which - 1)] = part * seconds / static_cast<double>(std::max<Bytes>(o_.budget, 1));
  }
  return leaf;
}

}  // namespace tidemark::plan
