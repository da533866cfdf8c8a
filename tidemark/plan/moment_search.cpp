// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/moment_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tidemark::plan {
namespace {

// To what any price gives at a moment, as a part of what it adds.
constexpr double kExactly = 1e-9, kAbout = 1e-4;

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// The live bytes at each task when the list runs once and nothing is dropped early: where the cuts are looked
// for.
std::vector<Bytes> profile(const Values& values) {
  const int n = values.tasks();
  std::vector<TaskId> first(at(values.values()), -1), last(at(values.values()), -1);
  const auto touch = [&](BufferId v, TaskId t) {
    if (first[at(v)] < 0) first[at(v)] = t;
    last[at(v)] = t;
  };
  for (TaskId t = 0; t < n; ++t) {
    if (values.problem.tasks[at(t)].optional) continue;
    for (BufferId v : values.reads[t]) touch(v, t);
    for (BufferId v : values.makes[t]) touch(v, t);
  }
  for (BufferId v : values.outputs) last[at(v)] = n - 1;
  std::vector<Bytes> change(at(n) + 1), live(at(n));
  for (BufferId v = 0; v < values.values(); ++v) {
    if (first[at(v)] < 0) continue;
    change[at(first[at(v)])] += values.size[at(v)];
    change[at(last[at(v)]) + 1] -= values.size[at(v)];
  }
  Bytes now = values.resident_bytes;
  for (TaskId t = 0; t < n; ++t) {
    now += change[at(t)];
    live[at(t)] = now + values.problem.tasks[at(t)].workspace;
  }
  return live;
}

}  // namespace

MomentSearch::MomentSearch(const Values& values, const BoundOptions& options, const Limit& limit,
                           std::int64_t& cuts)
    : v_(values),
      o_(options),
      limit_(limit),
      cuts_(cuts),
      best_{.seconds = values.floor_seconds, .price = options.price},
      live_(profile(values)) {
  for (TaskId t = 0; t < v_.tasks(); ++t) {
    if (v_.sole[at(t)] && live_[at(t)] > o_.budget) moments_.push_back(t);
  }
}

void MomentSearch::run(bool anywhere) {
  if (!v_.problem.tiers.empty()) {
    weigh_links(anywhere);
  } else {
    if (o_.moment >= 0) look_at(o_.moment);
    if (o_.moment < 0 || o_.scan) scan(anywhere);
  }
}

TaskId MomentSearch::fullest() const {
  return *std::max_element(moments_.begin(), moments_.end(),
                           [&](TaskId a, TaskId b) { return live_[at(a)] < live_[at(b)]; });
}

// So many arcs a second, fewer of networks that no cache holds: far beyond the time limit only where they are unusually deep.
std::int64_t MomentSearch::work_limit() const {
  constexpr int kInCache = 200'000;  // tasks
  const double rate = v_.tasks() <= kInCache ? 4e8 : 1e8;
  return static_cast<std::int64_t>(rate * std::clamp(o_.time_limit, 0.05, 1e3));
}

bool MomentSearch::is_large() const {
  constexpr double kSomeCuts = 5e-6;  // seconds
  return o_.time_limit < kSomeCuts * v_.extent();
}

// The best price there, or about.
void MomentSearch::look_at(TaskId t) {
  if (tried_.count(t) != 0 || !more_time()) return;
  CutModel model(v_, t);
  model.limit_work(work_limit(), &limit_);
  model.set_links(links_);
  Try& entry = tried_[t];
  Certificate::Leaf leaf;
  const Cut c = model.best(o_.budget, o_.known_seconds,
                           {.more = &entry.choice.more,
                            .less = &entry.choice.less,
                            .leaf = &leaf,
                            .price = best_.price,
                            .near = is_large() ? kAbout : kExactly});
  entry.seconds = c.seconds;
  cuts_ += model.cuts_made();
  if (c.seconds == std::numeric_limits<double>::infinity()) {
    best_.impossible_at = t;
    return;
  }
  if (c.seconds <= best_.seconds) return;
  best_.seconds = c.seconds;
  best_.moment = t;
  best_.price = c.price;
  best_.leaf = std::move(leaf);
}

// How much the streams of the tiers count. What they give is concave in the weights, so a search by pattern finds good
// ones; tiers share a weight by their rates, so that a byte costs the same through each.
void MomentSearch::set_weights(double read, double write) {
  const auto& tiers = v_.problem.tiers;
  double in = 0, out = 0;
  for (const Tier& t : tiers) {
    in += t.read_bytes_per_second;
    out += t.write_bytes_per_second;
  }
  constexpr auto whole = static_cast<double>(Certificate::kWhole);
  links_.clear();
  for (const Tier& t : tiers)
    links_.push_back({static_cast<std::int64_t>(whole * read * t.read_bytes_per_second / in),
                      static_cast<std::int64_t>(whole * write * t.write_bytes_per_second / out)});
}

// Weights at the fullest moment, or at others where that is a moment at which everything can be moved in time; then
// the best moment for them, and the best weights for it.
void MomentSearch::weigh_links(bool anywhere) {
  if (moments_.empty()) return;
  double best_read = 0, best_write = 0;
  const auto search = [&](TaskId t) {
    CutModel model(v_, t);
    model.limit_work(work_limit(), &limit_);
    const auto value = [&](double read, double write) {
      if (read < 0 || write < 0 || read > 1 || write > 1 || !may_screen(0.8)) return -1.0;
      set_weights(read, write);
      model.set_links(links_);
      const std::int64_t before = model.cuts_made();
      const double seconds = model.best(o_.budget, o_.known_seconds, {.price = best_.price}).seconds;
      cuts_ += model.cuts_made() - before;
      return seconds;
    };
    double best = value(best_read, best_write);
    for (int halved = 2; halved < 9; ++halved) {
      const double step = std::ldexp(1.0, -halved);
      static constexpr double kDirections[][2] = {{1, 1},  {1, 0},  {0, 1},  {-1, -1},
                                                  {-1, 0}, {0, -1}, {1, -1}, {-1, 1}};
      for (const auto& d : kDirections) {
        const double read = best_read + step * d[0], write = best_write + step * d[1];
        const double seconds = value(read, write);
        if (!(seconds > best) || seconds == std::numeric_limits<double>::infinity()) continue;
        best = seconds;
        best_read = read;
        best_write = write;
      }
    }
    return best;
  };
  search(fullest());
  if (best_read == 0 && best_write == 0) {
    for (std::size_t i = 1; i < 8 && best_read == 0 && best_write == 0; ++i)
      search(moments_[i * (moments_.size() - 1) / 8]);
  }
  set_weights(best_read, best_write);
  if (best_read == 0 && best_write == 0) return;
  scan(anywhere);
  if (best_.moment < 0 || is_impossible()) return;
  search(best_.moment);
  set_weights(best_read, best_write);
  tried_.erase(best_.moment);
  look_at(best_.moment);
}

// One cut at the best price so far: what a moment promises.
double MomentSearch::screen(TaskId t) {
  const auto [entry, fresh] = screened_.try_emplace(t, 0.0);
  if (!fresh) return entry->second;
  CutModel model(v_, t);
  model.limit_work(work_limit(), &limit_);
  model.set_links(links_);
  ++cuts_;
  return entry->second = model.cut(best_.price, o_.budget).seconds;
}
bool MomentSearch::may_screen(double share) const {
  return !limit_.time_is_up() && limit_.elapsed() < share * o_.time_limit &&
         static_cast<double>(cuts_) < share * static_cast<double>(o_.effort) && !is_impossible();
}

// Of some moments, that of which the most is sure: what has run by then and what has not. Towers that meet in the loss, say, are all sure there alone, and at other
// moments the activations of one of them need not be there. Of equals the fullest; -1 where nearly all is sure at the fullest of all.
TaskId MomentSearch::clearest() const {
  constexpr std::int64_t kLooks = 40, kMostWork = 50'000;  // tasks looked at, about
  constexpr int kMostTasks = 20'000;                       // beyond, a look takes as long as a cut should
  constexpr double kClear = 0.95;
  if (v_.tasks() > kMostTasks) return -1;
  const auto clear = [&](TaskId t) {
    const Moment moment(v_, t);
    double seconds = 0;
    for (TaskId u = 0; u < v_.tasks(); ++u)
      seconds += moment.before[at(u)] || moment.after[at(u)] ? v_.floor[at(u)] : 0;
    return std::pair{seconds, live_[at(t)]};
  };
  const std::int64_t count = std::ssize(moments_),
                     looks = std::min(count, std::max(kLooks, kMostWork / v_.tasks()));
  // The forward part ends where the most is live, as a rule.
  std::vector<std::int64_t> order(moments_.size());
  std::iota(order.begin(), order.end(), 0);
  const auto moment = [&](std::int64_t i) { return moments_[static_cast<std::size_t>(i)]; };
  std::partial_sort(order.begin(), order.begin() + looks, order.end(), [&](std::int64_t a, std::int64_t b) {
    return std::pair{-live_[at(moment(a))], a} < std::pair{-live_[at(moment(b))], b};
  });
  std::int64_t best = order[0], step = count / looks;
  std::pair<double, Bytes> most = clear(moment(best));
  if (most.first >= kClear * v_.floor_seconds) return -1;
  const auto look = [&](std::int64_t i) {
    if (i < 0 || i >= count || limit_.time_is_up()) return;
    if (const auto now = clear(moment(i)); now > most) {
      most = now;
      best = i;
    }
  };
  for (std::int64_t k = 1; k < looks; ++k) look(order[static_cast<std::size_t>(k)]);
  for (std::int64_t i = step / 2; i < count; i += step) look(i);
  for (step /= 2; step > 0; step /= 2) {
    const std::int64_t here = best;
    look(here - step);
    look(here + step);
  }
  return moment(best);
}

// Where the bound is best is not where most is live, but on a coarse scale it rises to one summit: the fullest
// moment and a grid first, then steps that halve; at last all neighbours, and the most promising of them whole.
void MomentSearch::scan(bool anywhere) {
  const std::vector<TaskId>& moments = moments_;
  if (moments.empty()) return;
  look_at(fullest());
  if (const TaskId t = anywhere ? clearest() : -1; t >= 0) look_at(t);
  const auto last = static_cast<std::int64_t>(moments.size()) - 1;
  const auto moment = [&](std::int64_t i) { return moments[static_cast<std::size_t>(i)]; };
  constexpr std::int64_t kGrid = 16;
  std::int64_t step = std::max<std::int64_t>(1, (last + 1) / kGrid);
  const bool few = v_.tasks() < 4000 && o_.price == 0;
  // Every second of what is left each time, so that little time sees all of it coarsely.
  for (std::int64_t apart = 2 * kGrid * step; apart >= step; apart /= 2) {
    const std::int64_t first = step / 2 + (apart > step ? apart / 2 : 0);
    for (std::int64_t i = first; i <= last && may_screen(0.5); i += apart)
      if (few || best_.moment < 0 || screen(moment(i)) > best_.seconds) look_at(moment(i));
  }
  // Where parts of a program do not wait for each other (towers that meet in the loss), few moments prove anything.
  for (std::int64_t finer = step / 2; finer > 0 && best_.moment < 0 && may_screen(0.5); finer /= 2)
    for (std::int64_t i = finer / 2; i <= last && may_screen(0.5); i += finer) look_at(moment(i));
  if (best_.moment < 0 || is_impossible()) return;
  const auto place = [&](TaskId t) {
    return std::lower_bound(moments.begin(), moments.end(), t) - moments.begin();
  };
  for (; step > 0; step /= 2) {
    for (bool better = true; std::exchange(better, false);) {
      const std::int64_t here = place(best_.moment);
      for (const std::int64_t i : {here - step, here + step}) {
        if (i < 0 || i > last || !may_screen(0.7) || screen(moment(i)) <= best_.seconds) continue;
        look_at(moment(i));
        better = place(best_.moment) != here;
        if (better) break;
      }
    }
  }
  best_.hurried = !may_screen(0.7) && !is_impossible();
  for (const TaskId center : {best_.moment, fullest()}) {
    const std::int64_t here = place(center);
    for (std::int64_t i = here - 1, k = here + 1; here - i <= 64 && may_screen(0.3); --i, ++k) {
      if (i >= 0) screen(moment(i));
      if (k <= last) screen(moment(k));
    }
  }
  for (int round = 0; round < 4; ++round) {
    std::erase_if(screened_, [&](const auto& s) { return tried_.count(s.first) != 0; });
    const auto best = std::max_element(screened_.begin(), screened_.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best == screened_.end()) break;
    look_at(best->first);
    screened_.erase(best);
  }
}

std::vector<BoundResult::Choice> MomentSearch::choices() const {
  constexpr std::size_t kMost = 8;
  std::vector<const Try*> order;
  for (const auto& [t, entry] : tried_) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(),
                   [](const Try* a, const Try* b) { return a->seconds > b->seconds; });
  std::vector<BoundResult::Choice> best;
  for (const Try* t : order) {
    if (best.size() < kMost) best.push_back(t->choice);
  }
  return best;
}

}  // namespace tidemark::plan
