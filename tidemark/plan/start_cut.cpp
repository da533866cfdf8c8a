// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/start_cut.h"

#include <cmath>

#include "tidemark/plan/mincut.h"

namespace tidemark::plan {
namespace {

constexpr int kRoom = 7;
constexpr double kScale = 1e12;  // capacity units for the seconds of all tasks

void sort_by_runs(const Timeline& line, CutStart& cut) {
  std::sort(cut.again.begin(), cut.again.end(), [&](const CutStart::Again& x, const CutStart::Again& y) {
    return line.runs_of(x.task).front() < line.runs_of(y.task).front();
  });
}

// need(b) on the source side: b is wanted after the moment. Then it is stored (the edge to its maker is cut, at price * bytes), or its
// maker runs again (its edge to the sink is cut, at its seconds) and what that reads is wanted too.
class Network {
 public:
  Network(const Timeline& line, std::int32_t moment, int segments, bool wait)
      : timeline_(&line), moment_(moment) {
    const Model& m = line.model();
    if (segments > 1) divide(segments);
    double total = 0;
    for (TaskId t = 0; t < m.tasks; ++t) total += m.seconds[static_cast<std::size_t>(t)];
    // Less than this is no time: its unit would be beyond all numbers.
    constexpr double kNoTime = 1e-250;
    unit_ = total > kNoTime ? kScale / total : 1;
    if (wait) find_needed();
    task_node_.assign(static_cast<std::size_t>(m.tasks), -1);
    buffer_node_.assign(static_cast<std::size_t>(m.buffers), -1);
    std::vector<BufferId> todo;
    for (BufferId b = 0; b < m.buffers; ++b) {
      if (over_moment(b)) {
        want(b, todo);
        cut_.add_edge(MinCut::kSource, buffer_node_[static_cast<std::size_t>(b)], MinCut::kUnlimited);
      }
    }
    while (!todo.empty()) {
      const BufferId b = todo.back();
      todo.pop_back();
      add_maker(b, todo);
    }
  }

  bool any_waits() const {
    return std::any_of(tasks_.begin(), tasks_.end(), [&](TaskId t) { return can_wait(t); });
  }

  // The answer for a price in seconds per byte; prices rise from call to call.
  CutStart solve(double price) {
    for (const auto& [edge, b] : storage_) {
      const double cost =
          price * static_cast<double>(timeline_->model().size[static_cast<std::size_t>(b)]) * unit_;
      cut_.set_capacity(edge, static_cast<MinCut::Flow>(std::min(cost, 4e17)));
    }
    cut_.solve();
    CutStart cut;
    cut.moment = moment_;
    const Model& m = timeline_->model();
    for (const TaskId t : tasks_) {
      if (!cut_.source_side(task_node_[static_cast<std::size_t>(t)])) continue;
      cut.again.push_back({t, can_wait(t)});
      cut.seconds += seconds_of(t);
    }
    for (std::size_t k = 0; k < storage_.size(); ++k) {
      const BufferId b = storage_[k].second;
      const TaskId t = maker_of_[k];
      const bool made = t >= 0 && cut_.source_side(task_node_[static_cast<std::size_t>(t)]);
      if (cut_.source_side(buffer_node_[static_cast<std::size_t>(b)]) && !made)
        cut.stored += m.size[static_cast<std::size_t>(b)];
    }
    sort_by_runs(*timeline_, cut);
    return cut;
  }

 private:
  bool over_moment(BufferId b) const {
    const auto& list = timeline_->events(b);
    const std::size_t i = timeline_->event_from(b, moment_);
    return i > 0 && i < list.size() && list[i].use && list[i].slot > moment_;
  }

  void want(BufferId b, std::vector<BufferId>& todo) {
    int& node = buffer_node_[static_cast<std::size_t>(b)];
    if (node >= 0) return;
    node = cut_.add_node();
    todo.push_back(b);
  }

  void add_maker(BufferId b, std::vector<BufferId>& todo) {
    const Model& m = timeline_->model();
    TaskId maker = -1;
    const bool crosses = !bounds_.empty() && crosses_bound(b);
    for (const TaskId t : m.makers[static_cast<std::size_t>(b)]) {
      if (crosses) break;
      const auto& runs = timeline_->runs_of(t);
      if (m.can_repeat[static_cast<std::size_t>(t)] && leaves_copied_alone(t) && !runs.empty() &&
          runs.front() < moment_ && versions_allow(t)) {
        maker = t;
        break;
      }
    }
    int node = MinCut::kSink;
    if (maker >= 0) {
      int& known = task_node_[static_cast<std::size_t>(maker)];
      if (known < 0) {
        known = cut_.add_node();
        tasks_.push_back(maker);
        cut_.add_edge(known, MinCut::kSink,
                      static_cast<MinCut::Flow>(std::llround(seconds_of(maker) * unit_)));
        for (const BufferId r : m.reads[static_cast<std::size_t>(maker)]) {
          if (at_moment(r)) continue;
          want(r, todo);
          cut_.add_edge(known, buffer_node_[static_cast<std::size_t>(r)], MinCut::kUnlimited);
        }
      }
      node = known;
    }
    const int edge = cut_.add_edge(buffer_node_[static_cast<std::size_t>(b)], node, 0);
    storage_.emplace_back(edge, b);
    maker_of_.push_back(maker);
  }

  // What the run at the moment is made from has to run before it. The rest can wait: after the moment that is no second run.
  void find_needed() {
    const Model& m = timeline_->model();
    needed_.assign(static_cast<std::size_t>(m.tasks), 0);
    std::vector<TaskId> todo;
    const auto need = [&](TaskId t) {
      if (t < 0 || t >= m.tasks || needed_[static_cast<std::size_t>(t)]) return;
      needed_[static_cast<std::size_t>(t)] = 1;
      todo.push_back(t);
    };
    need(timeline_->task_at(moment_));
    while (!todo.empty()) {
      const TaskId t = todo.back();
      todo.pop_back();
      for (const BufferId r : m.reads[static_cast<std::size_t>(t)])
        for (const TaskId maker : m.makers[static_cast<std::size_t>(r)]) need(maker);
      for (const TaskId u : m.after[static_cast<std::size_t>(t)]) need(u);
    }
  }
  bool can_wait(TaskId t) const { return !needed_.empty() && !needed_[static_cast<std::size_t>(t)]; }
  double seconds_of(TaskId t) const {
    return can_wait(t) ? 0 : timeline_->model().seconds[static_cast<std::size_t>(t)];
  }

  // What is read before the moment in another part of the sequence than it is made in. Kept when it is needed, so that making things
  // again never needs more than one part at a time.
  bool crosses_bound(BufferId b) const {
    const auto& list = timeline_->events(b);
    const std::size_t i = timeline_->event_from(b, moment_);
    if (i < 2) return false;
    const auto part = [&](std::int32_t slot) {
      return std::upper_bound(bounds_.begin(), bounds_.end(), slot) - bounds_.begin();
    };
    return part(list[0].slot) != part(list[i - 1].slot);
  }

  // Bounds near equal numbers of runs, where the fewest bytes are read across.
  void divide(int segments) {
    const Model& m = timeline_->model();
    std::vector<std::int32_t> slots;
    std::vector<std::int32_t> place(static_cast<std::size_t>(moment_) + 1, 0);
    for (std::int32_t s = 0; s < moment_; ++s) {
      place[static_cast<std::size_t>(s)] = static_cast<std::int32_t>(slots.size());
      if (timeline_->task_at(s) >= 0) slots.push_back(s);
    }
    std::vector<Bytes> across(slots.size() + 1, 0);
    for (BufferId b = 0; b < m.buffers; ++b) {
      const auto& list = timeline_->events(b);
      const std::size_t i = timeline_->event_from(b, moment_);
      if (i < 2) continue;
      across[static_cast<std::size_t>(place[static_cast<std::size_t>(list[0].slot)]) + 1] +=
          m.size[static_cast<std::size_t>(b)];
      across[static_cast<std::size_t>(place[static_cast<std::size_t>(list[i - 1].slot)]) + 1] -=
          m.size[static_cast<std::size_t>(b)];
    }
    for (std::size_t k = 1; k < across.size(); ++k) across[k] += across[k - 1];
    const auto n = static_cast<std::int64_t>(slots.size());
    for (int k = 1; k < segments; ++k) {
      const std::int64_t centre = n * k / segments, reach = n / segments / 3;
      std::int64_t best = centre;
      for (std::int64_t j = std::max<std::int64_t>(1, centre - reach); j <= centre + reach && j < n; ++j) {
        if (across[static_cast<std::size_t>(j)] < across[static_cast<std::size_t>(best)]) best = j;
      }
      if (best > 0 && best < n) bounds_.push_back(slots[static_cast<std::size_t>(best)]);
    }
  }

  // Read by the run at the moment: there in any case, and free to keep.
  bool at_moment(BufferId b) const {
    const auto& list = timeline_->events(b);
    const std::size_t i = timeline_->event_from(b, moment_);
    return i < list.size() && list[i].slot == moment_;
  }

  bool leaves_copied_alone(TaskId t) const {
    for (const BufferId w : timeline_->model().writes[static_cast<std::size_t>(t)]) {
      if (timeline_->copies_of(w) > 0) return false;
    }
    for (const BufferId r : timeline_->model().reads[static_cast<std::size_t>(t)]) {
      if (timeline_->copies_of(r) > 0) return false;
    }
    return true;
  }

  bool versions_allow(TaskId t) const {
    for (const TaskId u : timeline_->model().before[static_cast<std::size_t>(t)]) {
      if (!timeline_->runs_of(u).empty() && timeline_->runs_of(u).front() < moment_) return false;
    }
    return true;
  }

  const Timeline* timeline_;
  std::int32_t moment_;
  double unit_ = 1;
  MinCut cut_;
  std::vector<std::int32_t> bounds_;  // first slots of the parts but the first
  std::vector<char> needed_;          // by task, where any may wait: before the moment
  std::vector<int> task_node_, buffer_node_;
  std::vector<TaskId> tasks_;
  std::vector<std::pair<int, BufferId>> storage_;  // the edge that is cut when the buffer is stored
  std::vector<TaskId> maker_of_;                   // of the same
};

}  // namespace

Bytes bytes_of_run(const Timeline& line, std::int32_t moment) {
  const Model& m = line.model();
  const TaskId t = line.task_at(moment);
  if (t < 0) return 0;
  Bytes bytes = m.workspace[static_cast<std::size_t>(t)];
  for (const BufferId b : m.reads[static_cast<std::size_t>(t)]) bytes += m.size[static_cast<std::size_t>(b)];
  for (const BufferId b : m.writes[static_cast<std::size_t>(t)]) bytes += m.size[static_cast<std::size_t>(b)];
  return bytes;
}

namespace {

// The tasks of `more` that are not in `fewer`, grouped so that no buffer connects two groups, in order of their first task.
std::vector<std::vector<CutStart::Again>> independent_parts(const Timeline& line, const CutStart& fewer,
                                                            const CutStart& more) {
  const Model& m = line.model();
  std::vector<char> in(static_cast<std::size_t>(m.tasks), 0);
  for (const auto& [t, waits] : more.again) in[static_cast<std::size_t>(t)] = 1;
  for (const auto& [t, waits] : fewer.again) in[static_cast<std::size_t>(t)] = 0;
  std::vector<TaskId> parent(static_cast<std::size_t>(m.tasks));
  for (TaskId t = 0; t < m.tasks; ++t) parent[static_cast<std::size_t>(t)] = t;
  const auto root = [&](TaskId t) {
    while (parent[static_cast<std::size_t>(t)] != t) {
      t = parent[static_cast<std::size_t>(t)] =
          parent[static_cast<std::size_t>(parent[static_cast<std::size_t>(t)])];
    }
    return t;
  };
  for (const auto& [t, waits] : more.again) {
    if (!in[static_cast<std::size_t>(t)]) continue;
    for (const BufferId b : m.reads[static_cast<std::size_t>(t)]) {
      for (const TaskId maker : m.makers[static_cast<std::size_t>(b)]) {
        if (in[static_cast<std::size_t>(maker)]) parent[static_cast<std::size_t>(root(t))] = root(maker);
      }
    }
  }
  std::vector<std::int32_t> index(static_cast<std::size_t>(m.tasks), -1);
  std::vector<std::vector<CutStart::Again>> parts;
  for (const CutStart::Again& again : more.again) {
    if (!in[static_cast<std::size_t>(again.task)]) continue;
    std::int32_t& i = index[static_cast<std::size_t>(root(again.task))];
    if (i < 0) {
      i = static_cast<std::int32_t>(parts.size());
      parts.emplace_back();
    }
    parts[static_cast<std::size_t>(i)].push_back(again);
  }
  return parts;
}

}  // namespace

CutStart mix(const Timeline& line, const CutStart& fewer, const CutStart& more, Bytes room) {
  const auto parts = independent_parts(line, fewer, more);
  if (parts.size() < 2 || fewer.stored <= more.stored) return more;
  // Each part saves about its share of seconds, as all have the same price.
  const double per_second =
      static_cast<double>(fewer.stored - more.stored) / std::max(1e-300, more.seconds - fewer.seconds);
  // Spread evenly: neighbours that are both made again need each other, and then all of them at once.
  const double share = std::clamp(
      static_cast<double>(fewer.stored - room) / static_cast<double>(fewer.stored - more.stored), 0.0, 1.0);
  CutStart cut = fewer;
  double stored = static_cast<double>(fewer.stored), seen = 0, taken = 0;
  for (const auto& part : parts) {
    double seconds = 0;
    for (const auto& [t, waits] : part)
      seconds += waits ? 0 : line.model().seconds[static_cast<std::size_t>(t)];
    seen += seconds;
    if (taken >= share * seen || stored <= static_cast<double>(room)) continue;
    taken += seconds;
    cut.seconds += seconds;
    stored -= seconds * per_second;
    cut.again.insert(cut.again.end(), part.begin(), part.end());
  }
  cut.stored = static_cast<Bytes>(stored);
  sort_by_runs(line, cut);
  return cut;
}

// Eisner and Severance (1976): between two known prices the next to try is where their answers cost the same.
std::vector<CutStart> cuts_at(const Timeline& line, std::int32_t moment, Bytes room, int segments, bool wait,
                              const Limit& limit) {
  Network start(line, moment, segments, wait);
  if (wait && !start.any_waits()) return {};
  Network low_network = start;
  CutStart low = low_network.solve(0);  // stores what is free to store: everything
  if (low.stored <= room) return {low};
  const Model& m = line.model();
  double total = 0;
  for (TaskId t = 0; t < m.tasks; ++t) total += m.seconds[static_cast<std::size_t>(t)];
  double low_price = 0;
  CutStart high = Network(start).solve(std::max(total, 1e-30));
  if (high.stored > room) return {high};
  for (int k = 0; k < 60 && !limit.time_is_up(); ++k) {
    const double price = (high.seconds - low.seconds) / static_cast<double>(low.stored - high.stored);
    if (!(price > low_price)) break;
    Network network = low_network;
    CutStart middle = network.solve(price);
    if (middle.stored >= low.stored || middle.stored <= high.stored) break;
    if (middle.stored > room) {
      low = std::move(middle);
      low_network = std::move(network);
      low_price = price;
    } else {
      high = std::move(middle);
    }
  }
  return {low, high};
}

void apply_cut(Timeline& line, const CutStart& cut, int room) {
  const Model& m = line.model();
  const std::int32_t end = line.slots() - 1;
  // Where a buffer is needed first after the moment, as slots of the timeline without the new runs; end + 1: nowhere.
  std::vector<std::int32_t> need(static_cast<std::size_t>(m.buffers), -1);
  const auto need_of = [&](BufferId b) -> std::int32_t& {
    std::int32_t& n = need[static_cast<std::size_t>(b)];
    if (n < 0) {
      const auto& list = line.events(b);
      const std::size_t i = line.event_from(b, cut.moment + 1);
      n = i < list.size() && list[i].use ? list[i].slot : end + 1;
    }
    return n;
  };
  std::vector<std::pair<std::int32_t, TaskId>> placed;  // by slot, the last first
  for (auto it = cut.again.rbegin(); it != cut.again.rend(); ++it) {
    const auto t = static_cast<std::size_t>(it->task);
    std::int32_t before = end + 1;
    for (const BufferId w : m.writes[t]) before = std::min(before, need_of(w));
    const auto updated = [&](TaskId u) {
      return !line.runs_of(u).empty() && line.runs_of(u).front() < before;
    };
    if (before > end || std::any_of(m.before[t].begin(), m.before[t].end(), updated)) continue;
    for (const BufferId r : m.reads[t]) need_of(r) = std::min(need_of(r), before);
    placed.emplace_back(before, it->task);
  }
  std::reverse(placed.begin(), placed.end());
  std::stable_sort(placed.begin(), placed.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<TaskId> runs;
  runs.reserve(static_cast<std::size_t>(line.run_count()) + placed.size());
  std::size_t next = 0;
  for (std::int32_t s = 0; s <= end; ++s) {
    if (line.task_at(s) < 0 && s < end) continue;
    while (next < placed.size() && placed[next].first <= s) runs.push_back(placed[next++].second);
    if (s < end) runs.push_back(line.task_at(s));
  }
  line.assign(runs, room);
  // What could wait has waited: nothing uses what it made before.
  for (auto it = cut.again.rbegin(); it != cut.again.rend(); ++it) {
    const auto& all = line.runs_of(it->task);
    if (it->waits && all.size() > 1 && line.unused(all.front())) line.remove(all.front());
  }
  line.forget_log();
}

CutRepair repair_by_cuts(Timeline& line, Drops& drops, const CutRule& rule, Rng& rng, const Limit& limit) {
  const Model& m = line.model();
  double first_cut = 0;
  Bytes least = line.peak();
  int since = 0;
  for (int k = 0; k < rule.most_cuts && line.peak() > drops.budget() && since < 6 && !limit.time_is_up();
       ++k) {
    const Bytes over = line.peak() - drops.budget();
    if (k > 0 && static_cast<double>(over) < rule.leave * static_cast<double>(drops.budget() - m.base)) break;
    const std::int32_t moment = line.profile().where_most();
    const auto room = static_cast<Bytes>(
        rule.margin * static_cast<double>(drops.budget() - m.base - bytes_of_run(line, moment)));
    if (room <= 0) break;
    auto cuts = cuts_at(line, moment, room, k == 0 ? rule.segments : 0, rule.wait, limit);
    if (cuts.empty()) {
      if (k == 0) return {false, rule.worth};
      break;
    }
    CutStart cut = cuts.back();
    if (cuts.size() == 2 && rule.side == CutRule::Side::fewer) cut = cuts.front();
    if (cuts.size() == 2 && rule.side == CutRule::Side::mixed) cut = mix(line, cuts[0], cuts[1], room);
    if (k == 0) {
      first_cut = cut.seconds;
      if (first_cut >= rule.worth) return {false, first_cut};
      if (cuts.size() == 2 && cuts[0].stored > cuts[1].stored) {
        drops.set_price((cuts[1].seconds - cuts[0].seconds) /
                        static_cast<double>(cuts[0].stored - cuts[1].stored));
      }
    }
    if (cut.again.empty()) break;
    apply_cut(line, cut, kRoom);
    since = line.peak() < least ? 0 : since + 1;
    least = std::min(least, line.peak());
  }
  if (static_cast<double>(line.peak()) > rule.give_up * static_cast<double>(drops.budget()))
    return {false, first_cut};
  for (int k = 0; k < 3; ++k) {
    const auto outcome =
        drops.repair(rule.most_seconds, 0, rng, 100 + line.run_count(), Drops::Failing::leave);
    if (outcome != Drops::Outcome::no_room) return {outcome == Drops::Outcome::fits, first_cut};
    line.respread(15);
  }
  return {false, first_cut};
}

}  // namespace tidemark::plan
