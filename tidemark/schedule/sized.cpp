// With R(d, r) the most steps that a segment at depth d may have if none is advanced over more than r times,
//   R(d, 0) = leaf(d),   R(d, r) = R(d, r - 1) + R(d + 1, r),   R(depths + 1, r) = leaf(depths + 1),
// the second part of n steps, R(d, r - 1) < n <= R(d, r), is given R(d + 1, r - 1) steps if both parts then stay inside their
// ranges, and as near to that as they do if not. Where leaves have one step this is revolve (Griewank & Walther 2000);
// where a tape is as large as a state no more steps run than in mixed (Maddison 2024). One of the two parts always
// has exactly the steps of some R, so counting takes one way down the table.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/schedule/sized.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tidemark/base/error.h"
#include "tidemark/schedule/binomial.h"
#include "tidemark/schedule/need.h"
#include "tidemark/schedule/revolve.h"
#include "tidemark/schedule/schedules.h"
#include "tidemark/schedule/walk.h"

namespace tidemark::schedule {

Sized::Sized(std::int64_t steps, Bytes state, Bytes tape, Bytes bytes)
    : steps_(steps), state_(state), tape_(tape), bytes_(bytes) {
  TIDEMARK_CHECK(steps > 0 && state >= 0 && tape >= 0 && bytes >= 0 && (tape == 0 || state > 0));
  depths_ = state > 0 ? std::min(bytes / state, end() - 1) : end() - 1;
  if (!taped() || depths_ == 0) return;
  // R(0, r), a row of the table at a time: its rows d at level r from those at level r - 1.
  std::vector<std::int64_t> level(static_cast<std::size_t>(depths_ + 2));
  for (std::int64_t d = 0; d <= depths_ + 1; ++d) level[static_cast<std::size_t>(d)] = leaf(d);
  for (levels_ = 1; level[0] < end(); ++levels_) {
    for (auto d = static_cast<std::size_t>(depths_ + 1); d-- > 0;)
      level[d] = std::min(level[d] + level[d + 1], kHuge);
  }
}

std::int64_t Sized::leaf(std::int64_t depth) const {
  return taped() ? 1 + (bytes_ - std::max<std::int64_t>(0, depth - 1) * state_) / tape_ : 1;
}

void Sized::fill(std::span<std::int64_t> table) const {
  if (table_size() == 0) return;
  TIDEMARK_CHECK(static_cast<std::int64_t>(table.size()) == table_size());
  std::int64_t* row = table.data();
  for (std::int64_t d = 0; d <= depths_ + 1; ++d) row[d] = leaf(d);
  for (std::int64_t r = 1; r < levels_; ++r, row += depths_ + 2) {
    std::int64_t* next = row + depths_ + 2;
    next[depths_ + 1] = row[depths_ + 1];
    for (std::int64_t d = depths_; d >= 0; --d) next[d] = std::min(row[d] + next[d + 1], kHuge);
  }
}

std::int64_t Sized::split(std::int64_t n, std::int64_t depth, const std::int64_t* table) const {
  if (!taped()) return depth == depths_ ? n - 1 : revolve_split(n, depths_ + 1 - depth);
  if (depth == depths_) return n - leaf(depth + 1);
  const std::int64_t width = depths_ + 2;
  std::int64_t r = 1;
  while (r + 1 < levels_ && table[r * width + depth] < n) ++r;
  const std::int64_t low = std::max<std::int64_t>(1, n - table[r * width + depth + 1]),
                     high = std::max(low, std::min(table[(r - 1) * width + depth], n - 1));
  return std::clamp(n - table[(r - 1) * width + depth + 1], low, high);
}

Sized::Counts Sized::counts(std::int64_t steps, bool whole) const {
  if (taped()) return count({{steps + (whole ? 1 : 0), 0}}, steps, whole);
  if (steps < 2) return {.direct = steps};
  const std::int64_t slots = depths_ + 1;
  std::int64_t first = 0;
  for (std::int64_t left = whole ? slots : 0; left > 1 && steps - first > 1; --left)
    first += revolve_split(steps - first, left);
  return {.advances = revolve_advances(steps, slots) - first, .direct = steps};
}

Sized::Counts Sized::counts(std::span<const std::int64_t> kept, std::int64_t steps) const {
  std::vector<Part> parts;
  for (std::size_t k = 0; k < kept.size(); ++k)
    parts.push_back({(k + 1 < kept.size() ? kept[k + 1] : steps) - kept[k], static_cast<std::int64_t>(k)});
  if (taped()) return count(std::move(parts), steps, false);
  Counts all{.direct = steps};
  for (const Part& p : parts) all.advances += revolve_advances(p.steps, depths_ + 1 - p.depth);
  return all;
}

Sized::Counts Sized::count(std::vector<Part> parts, std::int64_t steps, bool whole) const {
  Counts all;
  std::vector<std::int64_t> table(static_cast<std::size_t>(table_size()));
  fill(table);
  const auto width = static_cast<std::size_t>(depths_ + 2);
  // Of segments of exactly R(d, r) steps: steps advanced over, leaves.
  std::vector<std::int64_t> advances(table.size()), leaves(table.size(), 1);
  for (std::size_t r = 1; r * width < table.size(); ++r) {
    for (std::size_t d = width - 1; d-- > 0;) {
      const std::size_t i = r * width + d, left = i - width, right = i + 1;
      advances[i] = std::min(table[left] + advances[left] + advances[right], kHuge);
      leaves[i] = std::min(leaves[left] + leaves[right], kHuge);
    }
  }
  struct Run {
    std::int64_t advances = 0, leaves = 1;
  };
  const auto exact = [&](std::int64_t n, std::int64_t depth, Run& part) {
    for (auto i = static_cast<std::size_t>(depth); i < table.size(); i += width) {
      if (table[i] == n) {
        part = {advances[i], leaves[i]};
        return true;
      }
      if (table[i] > n) return false;
    }
    return false;
  };
  std::int64_t leaves_all = 0;
  bool first_sweep = whole;  // the way down to the last leaf: these steps are the primal's own
  while (!parts.empty()) {
    auto [n, depth] = parts.back();
    parts.pop_back();
    const bool primal = std::exchange(first_sweep, false);
    Run part;
    if (n <= leaf(depth)) {
      ++leaves_all;
      if (primal) all.first_taped = n - 1;
    } else if (!primal && depth == depths_) {
      const std::int64_t each = leaf(depth + 1), times = (n - leaf(depth) + each - 1) / each;
      all.advances += times * n - each * times * (times + 1) / 2;
      leaves_all += times + 1;
    } else if (!primal && exact(n, depth, part)) {
      all.advances += part.advances;
      leaves_all += part.leaves;
    } else {
      const std::int64_t x = split(n, depth, table.data());
      if (!primal) all.advances += x;
      parts.push_back({x, depth});
      parts.push_back({n - x, depth + 1});
      first_sweep = primal;
    }
  }
  all.direct = leaves_all - (whole ? 1 : 0);
  all.taped = steps - all.first_taped - all.direct;
  return all;
}

namespace {

// The first state takes a place like the others, and the last step of a leaf is taped like the others.
Sized all_counted(std::int64_t steps, Bytes state, Bytes tape, Bytes bytes) {
  need_steps("sized", steps);
  need("sized", "bytes of a tape", tape, 1);
  need("sized", "bytes of a state", state, 1);
  need("sized", "bytes", bytes, state + tape);
  return {steps, state, tape, bytes - state - tape};
}

// Frame::level is the depth, or that of a leaf that has begun.
class SizedPolicy final : public Policy {
 public:
  explicit SizedPolicy(const Sized& sized)
      : sized_(sized), table_(static_cast<std::size_t>(sized.table_size())) {
    sized_.fill(table_);
  }
  Choice choose(const Frame& f) override {
    const std::int64_t n = f.to - f.from;
    if (f.level == kLeaf || n <= sized_.leaf(f.level))
      return {.kind = Choice::Kind::tape, .child_level = kLeaf};
    if (!f.stored) return {.kind = Choice::Kind::store, .level = f.level};
    return {.kind = Choice::Kind::split,
            .at = f.from + sized_.split(n, f.level, table_.data()),
            .level = f.level,
            .child_level = f.level + 1};
  }

 private:
  static constexpr std::int64_t kLeaf = -1;
  Sized sized_;
  std::vector<std::int64_t> table_;
};

}  // namespace

SchedulePtr sized(std::int64_t steps, Bytes state, Bytes tape, Bytes bytes) {
  return std::make_unique<Walk>(std::make_unique<SizedPolicy>(all_counted(steps, state, tape, bytes)),
                                Frame{.from = 0, .to = steps});
}

std::int64_t sized_steps(std::int64_t steps, Bytes state, Bytes tape, Bytes bytes) {
  return steps + all_counted(steps, state, tape, bytes).counts(steps, false).advances;
}

}  // namespace tidemark::schedule
