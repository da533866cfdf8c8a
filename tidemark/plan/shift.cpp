// The move of Improve that changes the order of many runs at once: a whole branch (the forward part of another head, say) comes behind or
// before what lies between, with everything that depends on it. Run by run each step of that would take more memory than it frees.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "tidemark/plan/improve.h"

namespace tidemark::plan {
namespace {
constexpr std::size_t kMostShifted = 64;  // runs that change places with others at most
constexpr double kWorthRepair = 1.2;      // of the room: what takes more is hardly ever repaired to a gain
}  // namespace

// Of the runs in [from, to): those that cannot stay when the first moves behind the others, since they read what moves.
bool Improve::split_behind(std::int32_t from, std::int32_t to) {
  const Model& m = line_->model();
  moves_.assign(static_cast<std::size_t>(m.buffers), 0);
  group_.clear();
  others_.clear();
  const auto moves = [&](BufferId b) { return moves_[static_cast<std::size_t>(b)] != 0; };
  for (std::int32_t s = from; s < to; s = line_->next_run(s)) {
    const auto t = static_cast<std::size_t>(line_->task_at(s));
    const auto reads = m.reads[t];
    const bool follows = s == from || std::any_of(reads.begin(), reads.end(), moves);
    // Made again by what stays, a value is there for those behind.
    for (const BufferId b : m.writes[t]) moves_[static_cast<std::size_t>(b)] = follows ? 1 : 0;
    (follows ? group_ : others_).push_back(s);
    if (std::min(group_.size(), others_.size()) > kMostShifted) return false;
  }
  return !others_.empty();
}

// Of the runs in [to, from]: those that have to come along when the last moves before the others, since they make what is read.
bool Improve::split_before(std::int32_t from, std::int32_t to) {
  const Model& m = line_->model();
  moves_.assign(static_cast<std::size_t>(m.buffers), 0);
  group_.clear();
  others_.clear();
  const auto wanted = [&](BufferId b) { return moves_[static_cast<std::size_t>(b)] != 0; };
  for (std::int32_t s = from; s >= to && s >= 0; s = line_->previous_run(s)) {
    const auto t = static_cast<std::size_t>(line_->task_at(s));
    const auto writes = m.writes[t];
    const bool needed = s == from || std::any_of(writes.begin(), writes.end(), wanted);
    if (needed) {
      for (const BufferId b : writes) moves_[static_cast<std::size_t>(b)] = 0;
      for (const BufferId b : m.reads[t]) moves_[static_cast<std::size_t>(b)] = 1;
    }
    (needed ? group_ : others_).push_back(s);
    if (std::min(group_.size(), others_.size()) > kMostShifted) return false;
  }
  std::reverse(group_.begin(), group_.end());
  std::reverse(others_.begin(), others_.end());
  return !others_.empty();
}

bool Improve::shift(double slack) {
  const Model& m = line_->model();
  if (m.buffers == 0 || m.has_copies()) return false;
  const std::int32_t from = any_run_in_the_way();
  if (from < 0) return false;
  const bool later = rng_.below(2) == 0;
  const std::int32_t most = later ? line_->slots() - 1 - from : from;
  if (most < 2) return false;
  // Near and far alike.
  const auto far = std::max(2, static_cast<std::int32_t>(std::exp(rng_.uniform() * std::log(most))));
  const std::int32_t to = line_->next_run(later ? from + far - 1 : from - far - 1);
  if (!(later ? split_behind(from, std::min(to, line_->slots() - 1)) : split_before(from, to))) return false;
  const double before = line_->seconds();
  const std::size_t mark = line_->mark();
  // Which of the two parts moves past the other is the same in the end.
  const bool few = group_.size() <= others_.size();
  const std::int32_t behind = later ? to : line_->next_run(from);
  const bool sound = later == few ? put_before(later ? group_ : others_, behind)
                                  : put_before(few ? group_ : others_, (later ? group_ : others_).front());
  const auto room = static_cast<double>(drops_->budget() - m.base);
  if (sound && static_cast<double>(line_->peak() - m.base) <= kWorthRepair * room)
    return mend(before, slack, mark);
  line_->undo_to(mark);
  return false;
}

}  // namespace tidemark::plan
