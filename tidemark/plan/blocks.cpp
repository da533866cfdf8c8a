// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/blocks.h"

#include <map>
#include <unordered_map>

namespace tidemark::plan {
namespace {

constexpr std::int32_t kContext = 8;     // tasks by which a place in the order is recognised
constexpr std::int32_t kLeastTasks = 4;  // of a block
constexpr std::int32_t kLeastBlocks = 3;
constexpr std::size_t kPeriods = 6;  // that are tried, the most frequent first

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15;
  return hash ^ (hash >> 29);
}

}  // namespace

// Sizes and counts, no seconds: equal work is not always measured as equal.
std::vector<std::uint64_t> Blocks::looks(const Model& m) const {
  std::vector<std::uint64_t> out;
  out.reserve(order_.size());
  for (const TaskId t : order_) {
    std::uint64_t hash = mixed(m.reads[at(t)].size(), m.writes[at(t)].size());
    hash = mixed(hash, static_cast<std::uint64_t>(m.workspace[at(t)]));
    for (const BufferId b : m.reads[at(t)]) hash = mixed(hash, static_cast<std::uint64_t>(m.size[at(b)]));
    for (const BufferId b : m.writes[at(t)]) hash = mixed(hash, static_cast<std::uint64_t>(m.size[at(b)]));
    out.push_back(hash);
  }
  return out;
}

std::vector<Blocks::Stretch> Blocks::stretches(const std::vector<std::uint64_t>& looks) const {
  const auto n = static_cast<std::int32_t>(looks.size());
  // How far back each place looks the same, with what follows it.
  std::unordered_map<std::uint64_t, std::int32_t> last;
  std::map<std::int32_t, std::int32_t> distances;
  for (std::int32_t i = 0; i + kContext <= n; ++i) {
    std::uint64_t hash = 0;
    for (std::int32_t k = 0; k < kContext; ++k) hash = mixed(hash, looks[at(i + k)]);
    const auto [it, fresh] = last.try_emplace(hash, i);
    if (!fresh && i - it->second >= kLeastTasks) ++distances[i - it->second];
    it->second = i;
  }
  std::vector<std::pair<std::int32_t, std::int32_t>> periods;  // how often, which
  for (const auto& [period, often] : distances) periods.emplace_back(often, period);
  std::stable_sort(periods.begin(), periods.end(),
                   [](const auto& x, const auto& y) { return x.first > y.first; });
  if (periods.size() > kPeriods) periods.resize(kPeriods);
  std::vector<Stretch> found;
  for (const auto& [often, period] : periods) {
    for (std::int32_t i = 0; i + period < n;) {
      std::int32_t end = i;
      while (end + period < n && looks[at(end)] == looks[at(end + period)]) ++end;
      const std::int32_t count = (end - i) / period + 1;
      if (count >= kLeastBlocks) found.push_back({i, period, count});
      i = end + 1;
    }
  }
  // The longest first; of those that overlap, one.
  std::stable_sort(found.begin(), found.end(), [](const Stretch& x, const Stretch& y) {
    return x.period * x.count > y.period * y.count;
  });
  std::vector<Stretch> kept;
  for (const Stretch& s : found) {
    const auto apart = [&](const Stretch& k) {
      return s.first + s.period * s.count <= k.first || k.first + k.period * k.count <= s.first;
    };
    if (std::all_of(kept.begin(), kept.end(), apart)) kept.push_back(s);
  }
  return kept;
}

// The longest stretch gives the blocks their numbers; another belongs to them where each of its blocks reads what one of theirs makes (or the other
// way round), the next from the next or from the one before.
Blocks::Blocks(const Model& m)
    : order_(m.order), block_(at(m.tasks), -1), place_(at(m.tasks), -1), stride_(at(m.tasks), 0) {
  for (std::size_t i = 0; i < order_.size(); ++i) place_[at(order_[i])] = static_cast<std::int32_t>(i);
  const std::vector<Stretch> all = stretches(looks(m));
  if (all.empty()) return;
  const Stretch& main = all.front();
  count_ = main.count;
  const auto number = [&](const Stretch& s, std::int32_t offset, std::int32_t direction) {
    for (std::int32_t i = 0; i < s.period * s.count; ++i) {
      const std::int32_t block = offset + direction * (i / s.period);
      if (block < 0 || block >= count_) continue;
      const TaskId t = order_[at(s.first + i)];
      block_[at(t)] = block;
      stride_[at(t)] = direction * s.period;
    }
  };
  number(main, 0, 1);
  for (std::size_t k = 1; k < all.size(); ++k) {
    const Stretch& s = all[k];
    // Votes for (offset, direction) by what tasks of the two read of each other.
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> votes;
    const auto vote = [&](std::int32_t here, std::int32_t there) {
      ++votes[{there - here, 1}];
      ++votes[{there + here, -1}];
    };
    const auto in = [&](const Stretch& x, TaskId t) {
      const std::int32_t i = place_[at(t)] - x.first;
      return place_[at(t)] >= 0 && i >= 0 && i < x.period * x.count ? i / x.period : -1;
    };
    const auto look_at = [&](const Stretch& readers, const Stretch& makers, bool swapped) {
      for (std::int32_t i = 0; i < readers.period * readers.count; ++i) {
        for (const BufferId b : m.reads[at(order_[at(readers.first + i)])]) {
          for (const TaskId maker : m.makers[at(b)]) {
            const std::int32_t there = in(makers, maker);
            if (there >= 0) swapped ? vote(there, i / readers.period) : vote(i / readers.period, there);
          }
        }
      }
    };
    look_at(s, main, false);
    look_at(main, s, true);
    const auto best = std::max_element(votes.begin(), votes.end(),
                                       [](const auto& x, const auto& y) { return x.second < y.second; });
    if (best != votes.end() && best->second >= s.count) number(s, best->first.first, best->first.second);
  }
}

TaskId Blocks::same_in(TaskId t, std::int32_t block) const {
  const std::int32_t from = block_[at(t)];
  if (from < 0) return -1;
  const std::int32_t i = place_[at(t)] + (block - from) * stride_[at(t)];
  if (i < 0 || i >= static_cast<std::int32_t>(order_.size())) return -1;
  const TaskId other = order_[at(i)];
  return block_[at(other)] == block ? other : -1;
}

namespace {

// A run beyond the first of its task, and the first run of another before which it stands.
struct Extra {
  TaskId task, before;
};

class Stitcher {
 public:
  Stitcher(Timeline& line, const Blocks& blocks, Bytes budget)
      : line_(line), blocks_(blocks), budget_(budget), tasks_(at(blocks.count())) {
    for (TaskId t = 0; t < line.model().tasks; ++t) {
      if (blocks.block_of(t) >= 0) tasks_[at(blocks.block_of(t))].push_back(t);
    }
  }

  std::vector<Extra> pattern(std::int32_t block) const {
    std::vector<std::pair<std::int32_t, Extra>> found;
    for (const TaskId t : tasks_[at(block)]) {
      const auto& runs = line_.runs_of(t);
      for (std::size_t i = 1; i < runs.size(); ++i) {
        std::int32_t s = line_.next_run(runs[i]);
        while (s < line_.slots() && line_.runs_of(line_.task_at(s)).front() != s) s = line_.next_run(s);
        found.push_back({runs[i], {t, s < line_.slots() ? line_.task_at(s) : -1}});
      }
    }
    std::sort(found.begin(), found.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    std::vector<Extra> out;
    for (const auto& [slot, extra] : found) out.push_back(extra);
    return out;
  }

  // True if the block now runs what the pattern of `from` says.
  bool carry_over(const std::vector<Extra>& pattern, std::int32_t from, std::int32_t to) {
    const std::size_t mark = line_.mark();
    const double before = line_.seconds();
    if (replace(pattern, from, to) && line_.seconds() < before * (1 - 1e-12) && line_.peak() <= budget_ &&
        sound(to))
      return true;
    line_.undo_to(mark);
    return false;
  }

 private:
  bool replace(const std::vector<Extra>& pattern, std::int32_t from, std::int32_t to) {
    for (const TaskId t : tasks_[at(to)]) {
      while (line_.runs_of(t).size() > 1) line_.remove(line_.runs_of(t).back());
    }
    for (const Extra& extra : pattern) {
      const TaskId task = blocks_.same_in(extra.task, to);
      if (task < 0 || extra.before < 0) return false;
      // What stands before a task of a neighbouring block does so here too.
      const std::int32_t near = blocks_.block_of(extra.before);
      const TaskId anchor = near < 0 ? extra.before : blocks_.same_in(extra.before, near + to - from);
      if (anchor < 0 || line_.runs_of(anchor).empty()) return false;
      const std::int32_t slot = line_.make_room_before(line_.runs_of(anchor).front(), 1);
      if (slot < 0) return false;
      line_.insert(task, slot);
    }
    return true;
  }

  bool sound(std::int32_t block) const {
    return std::all_of(tasks_[at(block)].begin(), tasks_[at(block)].end(),
                       [&](TaskId t) { return line_.sound_around(t); });
  }

  Timeline& line_;
  const Blocks& blocks_;
  Bytes budget_;
  std::vector<std::vector<TaskId>> tasks_;  // by block
};

}  // namespace

int stitch(Timeline& line, const Blocks& blocks, Bytes budget, std::span<const std::int32_t> sources,
           const Limit& limit) {
  Stitcher stitcher(line, blocks, budget);
  int changed = 0;
  for (const std::int32_t from : sources) {
    const std::vector<Extra> pattern = stitcher.pattern(from);
    for (std::int32_t to = 0; to < blocks.count() && !limit.time_is_up(); ++to) {
      if (to != from && stitcher.carry_over(pattern, from, to)) ++changed;
    }
  }
  return changed;
}

}  // namespace tidemark::plan
