// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/start_cut.h"

#include <cmath>
#include <limits>

#include "tidemark/plan/mincut.h"

namespace tidemark::plan {
namespace {

constexpr double kScale = 1e12;  // capacity units for the seconds of all tasks

// need(b) on the source side: b is wanted after the moment. Then it is stored (the edge to its maker is cut, at price * bytes), or its
// maker runs again (its edge to the sink is cut, at its seconds) and what that reads is wanted too.
class Network {
 public:
  Network(const Timeline& line, std::int32_t moment) : timeline_(&line), moment_(moment) {
    const Model& m = line.model();
    double total = 0;
    for (TaskId t = 0; t < m.tasks; ++t) total += m.seconds[static_cast<std::size_t>(t)];
    unit_ = total > 0 ? kScale / total : 1;
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

  // The answer for a price in seconds per byte; prices rise from call to call.
  CutStart solve(double price) {
    for (const auto& [edge, b] : storage_) {
      const double cost = price * static_cast<double>(timeline_->model().size[static_cast<std::size_t>(b)]) * unit_;
      cut_.set_capacity(edge, static_cast<MinCut::Flow>(std::min(cost, 4e17)));
    }
    cut_.solve();
    CutStart cut;
    cut.moment = moment_;
    const Model& m = timeline_->model();
    for (const TaskId t : tasks_) {
      if (!cut_.source_side(task_node_[static_cast<std::size_t>(t)])) continue;
      cut.again.push_back(t);
      cut.seconds += m.seconds[static_cast<std::size_t>(t)];
    }
    for (std::size_t k = 0; k < storage_.size(); ++k) {
      const BufferId b = storage_[k].second;
      const TaskId t = maker_of_[k];
      const bool made = t >= 0 && cut_.source_side(task_node_[static_cast<std::size_t>(t)]);
      if (cut_.source_side(buffer_node_[static_cast<std::size_t>(b)]) && !made) cut.stored += m.size[static_cast<std::size_t>(b)];
    }
    std::sort(cut.again.begin(), cut.again.end(),
              [&](TaskId x, TaskId y) { return timeline_->runs_of(x).front() < timeline_->runs_of(y).front(); });
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
    for (const TaskId t : m.makers[static_cast<std::size_t>(b)]) {
      const auto& runs = timeline_->runs_of(t);
      if (m.can_repeat[static_cast<std::size_t>(t)] && !runs.empty() && runs.front() < moment_ && versions_allow(t)) {
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
                      static_cast<MinCut::Flow>(std::llround(m.seconds[static_cast<std::size_t>(maker)] * unit_)));
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

  // Read by the run at the moment: there in any case, and free to keep.
  bool at_moment(BufferId b) const {
    const auto& list = timeline_->events(b);
    const std::size_t i = timeline_->event_from(b, moment_);
    return i < list.size() && list[i].slot == moment_;
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
std::vector<std::vector<TaskId>> independent_parts(const Timeline& line, const CutStart& fewer, const CutStart& more) {
  const Model& m = line.model();
  std::vector<char> in(static_cast<std::size_t>(m.tasks), 0);
  for (const TaskId t : more.again) in[static_cast<std::size_t>(t)] = 1;
  for (const TaskId t : fewer.again) in[static_cast<std::size_t>(t)] = 0;
  std::vector<TaskId> parent(static_cast<std::size_t>(m.tasks));
  for (TaskId t = 0; t < m.tasks; ++t) parent[static_cast<std::size_t>(t)] = t;
  const auto root = [&](TaskId t) {
    while (parent[static_cast<std::size_t>(t)] != t) {
      t = parent[static_cast<std::size_t>(t)] = parent[static_cast<std::size_t>(parent[static_cast<std::size_t>(t)])];
    }
    return t;
  };
  for (const TaskId t : more.again) {
    if (!in[static_cast<std::size_t>(t)]) continue;
    for (const BufferId b : m.reads[static_cast<std::size_t>(t)]) {
      for (const TaskId maker : m.makers[static_cast<std::size_t>(b)]) {
        if (in[static_cast<std::size_t>(maker)]) parent[static_cast<std::size_t>(root(t))] = root(maker);
      }
    }
  }
  std::vector<std::int32_t> index(static_cast<std::size_t>(m.tasks), -1);
  std::vector<std::vector<TaskId>> parts;
  for (const TaskId t : more.again) {
    if (!in[static_cast<std::size_t>(t)]) continue;
    std::int32_t& i = index[static_cast<std::size_t>(root(t))];
    if (i < 0) {
      i = static_cast<std::int32_t>(parts.size());
      parts.emplace_back();
    }
    parts[static_cast<std::size_t>(i)].push_back(t);
  }
  return parts;
}

}  // namespace

CutStart mix(const Timeline& line, const CutStart& fewer, const CutStart& more, Bytes room) {
  const auto parts = independent_parts(line, fewer, more);
  if (parts.size() < 2 || fewer.stored <= more.stored) return more;
  // Each part saves about its share of seconds, as all have the same price.
  const double per_second = static_cast<double>(fewer.stored - more.stored) / std::max(1e-300, more.seconds - fewer.seconds);
  CutStart cut = fewer;
  double stored = static_cast<double>(fewer.stored);
  for (const auto& part : parts) {
    if (stored <= static_cast<double>(room)) break;
    double seconds = 0;
    for (const TaskId t : part) seconds += line.model().seconds[static_cast<std::size_t>(t)];
    cut.seconds += seconds;
    stored -= seconds * per_second;
    cut.again.insert(cut.again.end(), part.begin(), part.end());
  }
  cut.stored = static_cast<Bytes>(stored);
  std::sort(cut.again.begin(), cut.again.end(),
            [&](TaskId x, TaskId y) { return line.runs_of(x).front() < line.runs_of(y).front(); });
  return cut;
}

// Eisner and Severance (1976): between two known prices the next to try is where their answers cost the same.
std::vector<CutStart> cuts_at(const Timeline& line, std::int32_t moment, Bytes room, const Limit& limit) {
  Network start(line, moment);
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

bool apply_cut(Timeline& line, const CutStart& cut) {
  const Model& m = line.model();
  const std::size_t mark = line.mark();
  for (auto it = cut.again.rbegin(); it != cut.again.rend(); ++it) {
    const TaskId t = *it;
    std::int32_t before = line.slots();
    for (const BufferId w : m.writes[static_cast<std::size_t>(t)]) {
      const auto& list = line.events(w);
      const std::size_t i = line.event_from(w, cut.moment + 1);
      if (i < list.size() && list[i].use) before = std::min(before, list[i].slot);
    }
    if (before >= line.slots()) continue;
    std::int32_t slot = -1;
    if (before == line.slots() - 1) {
      slot = before - 1;
      while (slot > cut.moment && line.task_at(slot) >= 0) --slot;  // kept for the end: the last slots are free
      if (slot <= line.previous_run(line.slots() - 1)) slot = -1;
    } else {
      slot = line.make_room_before(before, 1);
    }
    if (slot <= cut.moment) {
      line.undo_to(mark);
      return false;
    }
    line.insert(t, slot);
  }
  return true;
}

bool repair_by_cuts(Timeline& line, Drops& drops, const CutRule& rule, Rng& rng, const Limit& limit) {
  const Model& m = line.model();
  const std::size_t mark = line.mark();
  Bytes least = line.peak();
  int since = 0;
  for (int k = 0; k < rule.most_cuts && line.peak() > drops.budget() && since < 6 && !limit.time_is_up(); ++k) {
    const Bytes over = line.peak() - drops.budget();
    if (k > 0 && static_cast<double>(over) < rule.leave * static_cast<double>(drops.budget() - m.base)) break;
    const std::int32_t moment = line.profile().where_most();
    const auto room =
        static_cast<Bytes>(rule.margin * static_cast<double>(drops.budget() - m.base - bytes_of_run(line, moment)));
    if (room <= 0) break;
    auto cuts = cuts_at(line, moment, room, limit);
    CutStart cut = cuts.back();
    if (k == 0 && cuts.size() == 2 && cuts[0].stored > cuts[1].stored) {
      drops.set_price((cuts[1].seconds - cuts[0].seconds) / static_cast<double>(cuts[0].stored - cuts[1].stored));
    }
    if (cuts.size() == 2 && rule.side == CutRule::Side::fewer) cut = cuts.front();
    if (cuts.size() == 2 && rule.side == CutRule::Side::mixed) cut = mix(line, cuts[0], cuts[1], room);
    const std::int32_t before = line.run_count();
    if (!apply_cut(line, cut)) {
      // The runs before the moment are spread with the others: found again by how many there are.
      if (mark != 0) break;
      std::int32_t index = 0;
      for (std::int32_t s = 0; s < moment; ++s) index += line.task_at(s) >= 0;
      line.respread(15);
      for (std::int32_t s = 0; s < line.slots(); ++s) {
        if (line.task_at(s) >= 0 && index-- == 0) cut.moment = s;
      }
      if (!apply_cut(line, cut)) break;
    }
    if (line.run_count() == before) break;
    since = line.peak() < least ? 0 : since + 1;
    least = std::min(least, line.peak());
  }
  return drops.repair(std::numeric_limits<double>::infinity(), 0, rng, 1000 + 10 * m.tasks) == Drops::Outcome::fits;
}

}  // namespace tidemark::plan
