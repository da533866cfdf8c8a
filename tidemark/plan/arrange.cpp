// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/arrange.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tidemark/base/error.h"
#include "tidemark/plan/emit.h"
#include "tidemark/plan/finish.h"
#include "tidemark/plan/plan.h"
#include "tidemark/plan/reorder.h"
#include "tidemark/plan/timeline.h"

namespace tidemark::plan {
namespace {

constexpr std::int64_t kFar = 30;  // places that a run moves at most at once
constexpr int kPulls = 3;          // moves that shorten a life before it is forced in
constexpr int kMoves = 4;          // moves of any run with each that is forced in
constexpr int kSettled = 2;        // likewise, of what is around it, to where it fits best
constexpr double kLonger = 2;      // places that a life of the mean size may get longer by one move
constexpr double kEasy[] = {0.5, 0.6, 0.75};  // of the arena: live bytes that find their places, in turn
// Of the arena, below the peak as it was: from there on bytes count so many times more, or moments get fuller than any was.
constexpr double kSteep = 0.002, kSteeper = 20;
constexpr std::int64_t kToEase = 30;                  // changes of the order for each run, to get there
constexpr std::int64_t kDives = 12, kQuickDives = 3;  // from one order of the runs
constexpr double kFull =
    0.9;  // of the arena: what lives when so much is live is placed by dives, the rest beside it
constexpr double kSecondsAMove = 1e-6;  // of an easing, about
constexpr double kSecondsALife = 1e-8;  // of each round
constexpr std::int64_t kToLook = 16;    // rounds from one look at the clock to the next

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

Arrange::Arrange(const Model& model, Bytes arena, std::uint64_t seed)
    : model_(&model), align_(model.problem->align), arena_(arena / align_), seed_(seed), rng_(seed) {
  TIDEMARK_CHECK(!model.has_copies(), "[arrange] copies have their own places in time");
}

std::int32_t Arrange::add_life(Units size, std::int32_t maker) {
  lives_.push_back({.size = size, .maker = maker});
  return static_cast<std::int32_t>(lives_.size()) - 1;
}

void Arrange::load(const std::vector<TaskId>& runs) {
  const Model& m = *model_;
  Timeline line(m);
  line.assign(runs, 0);
  std::vector<Model::Pair> pairs;
  std::vector<std::int32_t> current(at(m.buffers), -1);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto place = static_cast<std::int32_t>(i);
    const auto t = at(runs[i]);
    Run run{runs[i], static_cast<std::int32_t>(lives_of_.size()), 0, 0};
    for (const BufferId b : m.reads[t]) {
      lives_[at(current[at(b)])].by.push_back(place);
      lives_of_.push_back(current[at(b)]);
      ++run.reads;
    }
    line.in_place_at(place, pairs);
    for (const BufferId b : m.writes[t]) {
      const auto over = std::find_if(pairs.begin(), pairs.end(), [&](const auto& p) { return p.write == b; });
      // What takes over a larger storage counts as that: simpler, and rare.
      current[at(b)] =
          over != pairs.end() ? current[at(over->read)] : add_life(m.size[at(b)] / align_, place);
      lives_of_.push_back(current[at(b)]);
    }
    if (m.workspace[t] > 0) lives_of_.push_back(add_life(m.workspace[t] / align_, place));
    run.lives = static_cast<std::int32_t>(lives_of_.size()) - run.first_life;
    runs_.push_back(run);
  }
  for (BufferId b = 0; b < m.buffers; ++b)
    if (m.output[at(b)] && current[at(b)] >= 0) lives_[at(current[at(b)])].kept = true;
  run_at_.resize(runs.size());
  std::iota(run_at_.begin(), run_at_.end(), 0);
  place_of_ = run_at_;
  find_ties();
  first_.resize(lives_.size());
  last_ = first_;
  offset_.assign(lives_.size(), -1);
  end_ = offset_;
  for (std::size_t l = 0; l < lives_.size(); ++l) refresh(static_cast<std::int32_t>(l));
  double sum = 1;
  for (const Life& l : lives_) {
    sum += static_cast<double>(l.size);
    largest_ = std::max(largest_, l.size);
  }
  mean_ = sum / static_cast<double>(std::max<std::size_t>(lives_.size(), 1));
  for (const Life& l : lives_) dear_.push_back(std::sqrt(static_cast<double>(l.size) / mean_));
}

void Arrange::refresh(std::int32_t life) {
  const Life& l = lives_[at(life)];
  std::int32_t last = first_[at(life)] = place_of_[at(l.maker)];
  for (const std::int32_t run : l.by) last = std::max(last, place_of_[at(run)]);
  last_[at(life)] = l.kept ? static_cast<std::int32_t>(runs_.size()) : last;
}

// Which of two readers may write in place depends on which is the last: they stay as they are.
bool Arrange::tied(TaskId a, TaskId b) const {
  if (must_precede(*model_, a, b)) return true;
  if (!model_->has_in_place()) return false;
  const auto takes_over_from = [&](TaskId taker, TaskId other) {
    const auto reads = model_->reads[at(other)];
    return std::any_of(model_->in_place[at(taker)].begin(), model_->in_place[at(taker)].end(),
                       [&](auto& p) { return std::find(reads.begin(), reads.end(), p.read) != reads.end(); });
  };
  return takes_over_from(a, b) || takes_over_from(b, a);
}

// Which pairs of runs stay in their order; each is tied to few, and only through a buffer or a version.
void Arrange::find_ties() {
  const Model& m = *model_;
  std::vector<std::vector<std::int32_t>> readers(at(m.buffers)), writers(at(m.buffers)), runs_of(at(m.all));
  const auto n = static_cast<std::int32_t>(runs_.size());
  for (std::int32_t run = 0; run < n; ++run) {
    const auto t = at(runs_[at(run)].task);
    for (const BufferId b : m.reads[t]) readers[at(b)].push_back(run);
    for (const BufferId b : m.writes[t]) writers[at(b)].push_back(run);
    runs_of[t].push_back(run);
  }
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  const auto look = [&](std::int32_t run, const std::vector<std::int32_t>& others) {
    for (const std::int32_t other : others) {
      const auto [a, b] = std::minmax(run, other);
      if (a != b && tied(runs_[at(a)].task, runs_[at(b)].task)) pairs.emplace_back(a, b);
    }
  };
  for (std::int32_t run = 0; run < n; ++run) {
    const auto t = at(runs_[at(run)].task);
    for (const BufferId b : m.writes[t]) {
      look(run, readers[at(b)]);
      look(run, writers[at(b)]);
    }
    for (const TaskId update : m.before[t]) look(run, runs_of[at(update)]);
    for (const TaskId update : m.after[t]) look(run, runs_of[at(update)]);
    if (!m.has_in_place()) continue;
    for (const Model::Pair& pair : m.in_place[t]) look(run, readers[at(pair.read)]);
  }
  const auto list = [&](Csr& ties) {
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    auto next = pairs.begin();
    for (std::int32_t run = 0; run < n; ++run) {
      for (; next != pairs.end() && next->first == run; ++next) ties.add(next->second);
      ties.end_row();
    }
  };
  list(later_);
  for (auto& [a, b] : pairs) std::swap(a, b);
  list(earlier_);
}

// Where the run gets to, by at most so many places.
std::int32_t Arrange::reach(std::int32_t run, std::int32_t by) const {
  std::int32_t to = place_of_[at(run)] + by;
  if (by > 0) {
    to = std::min(to, static_cast<std::int32_t>(runs_.size()) - 1);
    for (const std::int32_t other : later_[at(run)]) to = std::min(to, place_of_[at(other)] - 1);
  } else {
    to = std::max(to, 0);
    for (const std::int32_t other : earlier_[at(run)]) to = std::max(to, place_of_[at(other)] + 1);
  }
  return to;
}

void Arrange::shift(std::int32_t from, std::int32_t to) {
  const std::int32_t step = to > from ? 1 : -1, run = run_at_[at(from)];
  for (std::int32_t place = from; place != to; place += step) {
    const std::int32_t next = place + step, other = run_at_[at(next)];
    const Run& passed = runs_[at(other)];
    run_at_[at(place)] = other;
    place_of_[at(other)] = place;
    // What begins or ends with it does so one place further; what ends with the run that moves is looked at in the end.
    for (std::int32_t k = 0; k < passed.lives; ++k) {
      const auto life = at(lives_of_[at(passed.first_life + k)]);
      if (k >= passed.reads && lives_[life].maker == other) first_[life] = place;
      if (last_[life] == next) last_[life] = place;
    }
  }
  run_at_[at(to)] = run;
  place_of_[at(run)] = to;
  for (std::int32_t k = 0; k < runs_[at(run)].lives; ++k)
    refresh(lives_of_[at(runs_[at(run)].first_life + k)]);
}

// The life once `run`, which makes or uses it, is at `time`.
Arrange::Change Arrange::changed(std::int32_t life, std::int32_t run, std::int32_t time) const {
  const Life& l = lives_[at(life)];
  Change change{life, 2 * first_[at(life)], 2 * last_[at(life)]};
  if (l.maker == run) change.first = time;
  if (l.kept) return change;
  if (last_[at(life)] == place_of_[at(run)]) {
    change.last = std::max(time, change.first);
    for (const std::int32_t user : l.by)
      if (user != run) change.last = std::max(change.last, 2 * place_of_[at(user)]);
  } else if (l.maker != run) {
    change.last = std::max(change.last, time);
  }
  return change;
}

// Where all that has a place can keep it, and lives do not get much longer.
bool Arrange::move(std::int32_t run, std::int32_t by) {
  const std::int32_t from = place_of_[at(run)], to = reach(run, by);
  if (to == from) return false;
  const std::int32_t time = 2 * to + (by > 0 ? 1 : -1);
  const Run& r = runs_[at(run)];
  changes_.clear();
  double longer = 0;
  for (std::int32_t k = 0; k < r.lives; ++k) {
    const std::int32_t life = lives_of_[at(r.first_life + k)];
    const Change c = changed(life, run, time);
    const std::int32_t before = 2 * (last_[at(life)] - first_[at(life)]);
    longer += static_cast<double>(lives_[at(life)].size) * (c.last - c.first - before);
    if (offset_[at(life)] >= 0 && (c.first < 2 * first_[at(life)] || c.last > 2 * last_[at(life)]))
      changes_.push_back(c);
  }
  if (longer > 2 * kLonger * mean_ * rng_.uniform()) return false;
  // What the run makes or uses meets at the run before and behind: only others can be in the way.
  for (const Change& c : changes_)
    if (!is_free(c)) return false;
  shift(from, to);
  return true;
}

// Its maker later or its last user earlier.
bool Arrange::pull_in(std::int32_t life) {
  const Life& l = lives_[at(life)];
  const auto far = static_cast<std::int32_t>(1 + rng_.below(kFar));
  if (l.by.empty() || l.kept || rng_.below(2) == 0) return move(l.maker, far);
  return move(run_at_[at(last_[at(life)])], -far);
}

void Arrange::put(std::int32_t life, Units offset) {
  offset_[at(life)] = offset;
  end_[at(life)] = offset + lives_[at(life)].size;
  by_offset_.insert(std::upper_bound(by_offset_.begin(), by_offset_.end(), offset,
                                     [&](Units o, std::int32_t l) { return o < offset_[at(l)]; }),
                    life);
}

void Arrange::take(std::int32_t life) {
  by_offset_.erase(std::find(std::lower_bound(by_offset_.begin(), by_offset_.end(), offset_[at(life)],
                                              [&](std::int32_t l, Units o) { return offset_[at(l)] < o; }),
                             by_offset_.end(), life));
  offset_[at(life)] = end_[at(life)] = -1;
}

// Those with a place that live at some moment of its life, by offset.
void Arrange::meet(std::int32_t life) {
  const std::int32_t first = first_[at(life)], last = last_[at(life)];
  met_.resize(by_offset_.size());
  std::size_t count = 0;
  for (const std::int32_t other : by_offset_) {
    met_[count] = other;
    count += static_cast<std::size_t>(first_[at(other)] <= last) &
             static_cast<std::size_t>(last_[at(other)] >= first);
  }
  met_.resize(count);
}

// The smallest gap that holds it; -1: none does. Leaves those that it meets in met_.
Arrange::Units Arrange::free_place(std::int32_t life) {
  meet(life);
  return packing::smallest_gap(
      met_, [&](std::int32_t other) { return offset_[at(other)]; },
      [&](std::int32_t other) { return end_[at(other)]; }, arena_, lives_[at(life)].size);
}

bool Arrange::is_free(const Change& change) const {
  const Units begin = offset_[at(change.life)], end = end_[at(change.life)];
  auto next = std::lower_bound(by_offset_.begin(), by_offset_.end(), begin - largest_,
                               [&](std::int32_t l, Units o) { return offset_[at(l)] < o; });
  for (; next != by_offset_.end(); ++next) {
    const std::int32_t other = *next;
    if (offset_[at(other)] >= end) break;
    if (end_[at(other)] > begin && 2 * first_[at(other)] <= change.last &&
        2 * last_[at(other)] >= change.first && other != change.life)
      return false;
  }
  return true;
}

// Where what is there is least dear together; that loses its place. After free_place, whose met_ it uses.
void Arrange::force(std::int32_t life) {
  const Units size = lives_[at(life)].size, highest = arena_ - size;
  begins_.clear();
  ends_.clear();
  for (const std::int32_t other : met_) {
    begins_.push_back({std::max<Units>(0, offset_[at(other)] - size + 1), dear_[at(other)]});
    // Nearly in order: those that do not meet each other may overlap.
    const packing::Edge edge{end_[at(other)], dear_[at(other)]};
    ends_.push_back(edge);
    std::size_t k = ends_.size() - 1;
    for (; k > 0 && ends_[k - 1].at > edge.at; --k) ends_[k] = ends_[k - 1];
    ends_[k] = edge;
  }
  const Units best = packing::least_dear(begins_, ends_, highest, rng_).offset;
  for (const std::int32_t other : met_) {
    if (offset_[at(other)] >= best + size || end_[at(other)] <= best) continue;
    take(other);
    out_.push_back(other);
  }
  put(life, best);
}

// Some of those around what was forced in, to where they leave larger gaps.
void Arrange::settle_some() {
  around_ = met_;
  for (int k = 0; k < kSettled; ++k) {
    const std::int32_t life = around_[at(static_cast<std::int32_t>(rng_.below(std::ssize(around_))))];
    if (offset_[at(life)] < 0) continue;
    take(life);
    put(life, free_place(life));
  }
}

// The same runs in an order with fewer moments at which the arena is nearly full: what is live elsewhere finds a place.
std::vector<TaskId> Arrange::eased(const std::vector<TaskId>& runs, const Limit& limit) {
  Reorder reorder(*model_);
  reorder.load(runs);
  double mean = 0;
  for (const Bytes size : model_->size) mean += static_cast<double>(size) / std::max(1, model_->buffers);
  const Bytes before = reorder.peak();
  const auto moves = static_cast<std::int64_t>(
      std::min(static_cast<double>(kToEase * std::ssize(runs)), std::max(0.0, limit.left()) / kSecondsAMove));
  const auto arena = static_cast<double>(arena_ * align_);
  const Reorder::Limits limits{.limit = static_cast<Bytes>(kEasy[seed_ % std::size(kEasy)] * arena),
                               .steep = before - static_cast<Bytes>(kSteep * arena),
                               .steeper = kSteeper};
  reorder.anneal(limits, 0.3 * mean, 0.01 * mean, moves, rng_);
  return reorder.peak() <= std::max(before, arena_ * align_) ? reorder.runs() : runs;
}

bool Arrange::dive(const std::vector<TaskId>& runs, const Limit& limit) {
  load(eased(runs, limit));
  std::vector<Units> offsets;
  if (!dives_now().search(arena_, kDives, seed_, limit, offsets)) return false;
  offset_ = std::move(offsets);
  return true;
}

packing::CoreDives Arrange::dives_now() const {
  std::vector<packing::Places::Life> lives;
  for (std::size_t l = 0; l < lives_.size(); ++l)
    lives.push_back({.first = first_[l], .last = last_[l], .size = lives_[l].size});
  return {std::move(lives), static_cast<Units>(kFull * static_cast<double>(arena_))};
}

bool Arrange::dives_pay(const std::vector<TaskId>& runs, double seconds_each) {
  load(runs);
  const packing::CoreDives dives = dives_now();
  return dives.pays() && dives.seconds_a_dive() <= seconds_each;
}

std::optional<double> Arrange::part_over(const std::vector<TaskId>& runs, std::span<const double> parts,
                                         const Limit& limit) {
  load(eased(runs, limit));
  packing::CoreDives dives = dives_now();
  if (!dives.pays()) return std::nullopt;
  double least = std::numeric_limits<double>::infinity();
  std::vector<Units> offsets;
  for (const double part : parts) {
    const Units height = arena_ + static_cast<Units>(part * static_cast<double>(arena_));
    if (!dives.search(height, kQuickDives, seed_, limit, offsets)) break;
    least = part;
  }
  if (least > parts[0] && limit.time_is_up()) return std::nullopt;
  return least;
}

bool Arrange::run(const std::vector<TaskId>& runs, const Limit& limit, std::int64_t most_rounds) {
  load(eased(runs, limit));
  for (std::size_t l = 0; l < lives_.size(); ++l) {
    if (lives_[l].size > arena_) return false;
    out_.push_back(static_cast<std::int32_t>(l));
  }
  std::stable_sort(out_.begin(), out_.end(),
                   [&](auto a, auto b) { return lives_[at(a)].size > lives_[at(b)].size; });
  std::erase_if(out_, [&](std::int32_t life) {
    const Units place = lives_[at(life)].size == 0 ? 0 : free_place(life);
    if (place >= 0) put(life, place);
    return place >= 0;
  });
  const auto smaller = [&](auto a, auto b) { return lives_[at(a)].size < lives_[at(b)].size; };
  for (std::int64_t round = 1; !out_.empty() && round <= most_rounds; ++round) {
    worked(static_cast<double>(lives_.size()), kSecondsALife);
    if (round % kToLook == 0 && limit.time_is_up()) break;
    // What is large is placed while there is most room.
    std::iter_swap(std::max_element(out_.begin(), out_.end(), smaller), out_.end() - 1);
    const std::int32_t life = out_.back();
    out_.pop_back();
    Units place = free_place(life);
    for (int k = 0; k < kPulls && place < 0; ++k)
      if (pull_in(life)) place = free_place(life);
    if (place >= 0) {
      put(life, place);
    } else {
      dear_[at(life)] += std::sqrt(static_cast<double>(lives_[at(life)].size) / mean_);
      force(life);
      settle_some();
      for (int k = 0; k < kMoves; ++k) {
        const auto far = static_cast<std::int32_t>(1 + rng_.below(kFar));
        move(static_cast<std::int32_t>(rng_.below(std::ssize(runs_))), rng_.below(2) == 0 ? far : -far);
      }
    }
  }
  return out_.empty();
}

std::vector<TaskId> Arrange::runs() const {
  std::vector<TaskId> list;
  for (const std::int32_t run : run_at_) list.push_back(runs_[at(run)].task);
  return list;
}

Bytes Arrange::offset_of(std::int32_t place, BufferId buffer) const {
  const Run& run = runs_[at(run_at_[at(place)])];
  const auto writes = model_->writes[at(run.task)];
  std::int32_t k = run.lives - 1;
  if (buffer != Placement::kWorkspace)
    k = static_cast<std::int32_t>(
        model_->reads[at(run.task)].size() +
        static_cast<std::size_t>(std::find(writes.begin(), writes.end(), buffer) - writes.begin()));
  return offset_[at(lives_of_[at(run.first_life + k)])] * align_;
}

bool can_arrange(const Model& model, const Options& options) {
  return !model.has_copies() && options.reorder && model.tasks <= kMostToArrange;
}

std::optional<Plan> arranged(const Problem& problem, const Model& model, const std::vector<TaskId>& runs,
                             Bytes arena, const Options& options, const Limit& limit) {
  constexpr std::int64_t kRounds = 4000;  // of the first ejection
  constexpr int kMost = 40;               // doublings
  const bool pays = Arrange(model, arena, options.seed).dives_pay(runs);
  const int counted = pays ? 6 : 3;  // tries, where rounds are counted
  int ejections = 0;
  for (int k = 0; k == 0 || (options.effort < 0 ? !limit.time_is_up() : k < counted); ++k) {
    Arrange arrange(model, arena, options.seed + static_cast<std::uint64_t>(k));
    const bool dives = pays && k % 4 != 3;
    if (!(dives ? arrange.dive(runs, limit)
                : arrange.run(runs, limit, kRounds << std::min(ejections++, kMost))))
      continue;
    Timeline line(model);
    line.assign(arrange.runs(), 0);
    Plan plan = plan_of(problem, steps_of(line));
    place_at(problem, plan,
             [&](std::int32_t run, BufferId buffer) { return arrange.offset_of(run, buffer); });
    if (!replay(problem, plan).broken.empty()) return std::nullopt;
    return plan;
  }
  return std::nullopt;
}

}  // namespace tidemark::plan
