// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/linear_program.h"

#include <algorithm>

#ifdef TIDEMARK_WITH_HIGHS
#include "tidemark/plan/highs_limit.h"
#endif

namespace tidemark::plan {

LinearProgram::~LinearProgram() = default;

void LinearProgram::add_row(const std::vector<Entry>& entries, double least) {
  start_.push_back(static_cast<int>(index_.size()));
  for (const auto& [column, value] : entries) {
    index_.push_back(column);
    value_.push_back(value);
  }
  least_.push_back(least);
  ++rows_;
}

#ifdef TIDEMARK_WITH_HIGHS

void LinearProgram::Close::operator()(void* highs) const { Highs_destroy(highs); }

bool LinearProgram::available() { return true; }

LinearProgram::LinearProgram(const std::vector<double>& cost, int iterations, const Limit* limit)
    : columns_(static_cast<int>(cost.size())), highs_(Highs_create()) {
  void* highs = highs_.get();
  Highs_setBoolOptionValue(highs, "output_flag", 0);
  Highs_setIntOptionValue(highs, "threads", 1);
  Highs_setStringOptionValue(highs, "parallel", "off");
  Highs_setStringOptionValue(highs, "solver", "simplex");
  Highs_setStringOptionValue(highs, "presolve", "off");  // rows come one after the other
  Highs_setIntOptionValue(highs, "simplex_iteration_limit", iterations);
  if (limit != nullptr) heed_limit(highs, *limit);
  const std::vector<double> zero(cost.size(), 0.0), one(cost.size(), 1.0);
  Highs_addCols(highs, columns_, cost.data(), zero.data(), one.data(), 0, nullptr, nullptr, nullptr);
}

void LinearProgram::hand_over() {
  const std::vector<double> most(least_.size(), Highs_getInfinity(highs_.get()));
  Highs_addRows(highs_.get(), static_cast<HighsInt>(least_.size()), least_.data(), most.data(),
                static_cast<HighsInt>(index_.size()), start_.data(), index_.data(), value_.data());
  start_.clear();
  index_.clear();
  least_.clear();
  value_.clear();
}

LinearProgram::Outcome LinearProgram::run() {
  if (columns_ == 0) return Outcome::failed;
  hand_over();
  void* highs = highs_.get();
  if (Highs_run(highs) == kHighsStatusError) return Outcome::failed;
  const HighsInt status = Highs_getModelStatus(highs);
  multipliers_.assign(static_cast<std::size_t>(rows_), 0.0);
  if (status == kHighsModelStatusInfeasible) {
    HighsInt has = 0;
    const bool found = Highs_getDualRay(highs, &has, multipliers_.data()) == kHighsStatusOk && has != 0;
    return found ? Outcome::infeasible : Outcome::failed;
  }
  solution_.assign(static_cast<std::size_t>(columns_), 0.0);
  std::vector<double> reduced(solution_.size()), activity(multipliers_.size());
  if (Highs_getSolution(highs, solution_.data(), reduced.data(), activity.data(), multipliers_.data()) !=
      kHighsStatusOk)
    return Outcome::failed;
  objective_ = Highs_getObjectiveValue(highs);
  return status == kHighsModelStatusOptimal ? Outcome::solved : Outcome::stopped;
}

void LinearProgram::fix(int column, int value) {
  Highs_changeColBounds(highs_.get(), column, value == 1 ? 1 : 0, value == 0 ? 0 : 1);
}

LinearProgram::Basis LinearProgram::basis() const {
  std::vector<HighsInt> columns(static_cast<std::size_t>(columns_)), rows(static_cast<std::size_t>(rows_));
  if (!least_.empty() || Highs_getBasis(highs_.get(), columns.data(), rows.data()) != kHighsStatusOk)
    return {};
  const auto places = [](const std::vector<HighsInt>& list) {
    std::vector<Basis::At> out;
    for (const HighsInt s : list)
      out.push_back(s == kHighsBasisStatusBasic   ? Basis::At::inside
                    : s == kHighsBasisStatusUpper ? Basis::At::upper
                                                  : Basis::At::lower);
    return out;
  };
  return {places(columns), places(rows)};
}

void LinearProgram::start_from(const Basis& basis) {
  if (basis.columns.empty()) return;
  hand_over();
  const auto statuses = [](const std::vector<Basis::At>& list) {
    std::vector<HighsInt> out;
    for (const Basis::At at : list)
      out.push_back(at == Basis::At::inside  ? kHighsBasisStatusBasic
                    : at == Basis::At::upper ? kHighsBasisStatusUpper
                                             : kHighsBasisStatusLower);
    return out;
  };
  std::vector<HighsInt> columns = statuses(basis.columns), rows = statuses(basis.rows);
  rows.resize(static_cast<std::size_t>(rows_), kHighsBasisStatusBasic);
  std::ptrdiff_t missing = rows_;
  for (const auto* list : {&columns, &rows})
    missing -= std::count(list->begin(), list->end(), kHighsBasisStatusBasic);
  for (HighsInt& r : rows) {
    if (missing <= 0 || r == kHighsBasisStatusBasic) continue;
    r = kHighsBasisStatusBasic;
    --missing;
  }
  for (HighsInt& c : columns) {
    if (missing >= 0 || c != kHighsBasisStatusBasic) continue;
    c = kHighsBasisStatusLower;
    ++missing;
  }
  Highs_setBasis(highs_.get(), columns.data(), rows.data());
}

#else

void LinearProgram::Close::operator()(void*) const {}
bool LinearProgram::available() { return false; }
LinearProgram::LinearProgram(const std::vector<double>& cost, int, const Limit*)
    : columns_(static_cast<int>(cost.size())) {}
LinearProgram::Outcome LinearProgram::run() { return Outcome::failed; }
void LinearProgram::fix(int, int) {}
LinearProgram::Basis LinearProgram::basis() const { return {}; }
void LinearProgram::start_from(const Basis&) {}
void LinearProgram::hand_over() {}

#endif

}  // namespace tidemark::plan
