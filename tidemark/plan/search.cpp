// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/search.h"

#include <cmath>
#include <limits>

#include "tidemark/plan/order.h"

namespace tidemark::plan {
namespace {
constexpr int kRoom = 7;
constexpr double kHeat = 0.1;  // of the mean seconds of an extra run: what a round may lose
constexpr std::int32_t kSources = 8, kAllSources = 64;  // blocks that others are made like, in one go
constexpr std::size_t kFirstRules = 2, kAllRules = 100;
constexpr std::size_t kMoreStarts = 12;  // searched from
constexpr std::int64_t kPatience =
    400;  // rounds without success before a start is given up, beside those it has had
constexpr double kFarBehind = 1.5;          // times what the best start takes beyond the floor
constexpr double kRace = 0.25, kTurns = 3;  // of the time, to find the best start, in so many turns
constexpr std::int64_t kKinds =
    4;                      // of rounds, in turn: an exchange, a swap, and the others ruin and recreate
constexpr int kInVain = 3;  // orders tried for what is over, one after the other without success
constexpr std::int64_t kBetweenTrades = 64, kBetweenShifts = 3;  // rounds
constexpr double kManyExtra = 0.2;                               // of the tasks
constexpr double kWorthRepair =
    0.5;  // of the bytes that are over, left by a better order: drops may do the rest
constexpr std::size_t kElite = 3;                       // plans kept to relink with
constexpr std::size_t kBlended = 3, kMostBlends = 100;  // stretches taken over at once, and tried in one go
constexpr double kOften = 4;                            // rounds from one run moved to the next, at first
constexpr double kWorthWaiting = 0.995;                 // of the seconds of a cut in which nothing waits
constexpr int kSpikes = 32;                             // runs that are put off
constexpr std::int64_t kOrderStates = 2000;             // of the search for the order of least peak
constexpr std::int64_t kBetweenQuestions = 16;          // rounds, whether to go on
constexpr std::int64_t kSmall = 500;                    // tasks up to which every order is tried
constexpr std::int32_t kMiddling = 20000;  // tasks beyond which one start, made well, is all that time allows
}  // namespace

Search::Search(const Model& model, const SearchOptions& options, Limit& limit)
    : model_(&model),
      options_(options),
      limit_(&limit),
      line_(model),
      drops_(line_, options.budget),
      improve_(line_, drops_, options.seed + 1),
      reorder_(model),
      tiers_(line_, drops_, {.recompute = options.recompute}),
      best_seconds_(std::numeric_limits<double>::infinity()),
      least_peak_(std::numeric_limits<Bytes>::max()) {
  drops_.set_limit(&limit);
  drops_.set_moves_first(options.reorder);
  improve_.set_limit(&limit);
  reorder_.set_limit(&limit);
  double bytes = 0;
  for (const Bytes b : model.size) bytes += static_cast<double>(b);
  mean_size_ = std::max(1.0, bytes / std::max(1, model.buffers));
}

// Where a first run went and a second one is left, that is now the first, further back.
bool Search::keeps_order() const { return options_.reorder || in_listed_order(line_.runs()); }

void Search::note_peak() {
  if (line_.peak() >= least_peak_ || !keeps_order()) return;
  if (model_->has_copies() && tiers_.seconds() == std::numeric_limits<double>::infinity()) return;
  least_peak_ = line_.peak();
  least_runs_ = line_.runs();
}

void Search::consider() {
  if (model_->has_copies()) tiers_.tidy();
  note_peak();
  if (line_.peak() > options_.budget || !keeps_order()) return;
  const double seconds = seconds_now();
  if (seconds < local_.seconds) local_ = {seconds, line_.runs()};
  if (seconds < best_seconds_) {
    best_seconds_ = seconds;
    best_ = line_.runs();
  }
}

bool Search::in_listed_order(const std::vector<TaskId>& runs) const {
  std::vector<char> seen(static_cast<std::size_t>(model_->tasks), 0);
  TaskId last = -1;
  for (const TaskId t : runs) {
    const TaskId group = model_->group[static_cast<std::size_t>(t)];
    if (group < 0 || seen[static_cast<std::size_t>(group)]) continue;
    if (group < last) return false;
    seen[static_cast<std::size_t>(group)] = 1;
    last = group;
  }
  return true;
}

bool Search::offer(const std::vector<TaskId>& runs) {
  line_.assign(runs, kRoom);
  if (!line_.sound() || (!options_.reorder && !in_listed_order(runs))) return false;
  const auto tasks = std::count_if(runs.begin(), runs.end(), [&](TaskId t) { return t < model_->tasks; });
  if (!options_.recompute && tasks > static_cast<std::ptrdiff_t>(model_->order.size())) return false;
  consider();
  bool fits = line_.peak() <= options_.budget;
  if (!fits && (options_.recompute || model_->has_copies())) {
    fits = model_->has_copies()
               ? tiers_.repair(improve_.rng(), *limit_)
               : drops_.repair(std::numeric_limits<double>::infinity(), 0, improve_.rng(),
                               100 + line_.run_count(), Drops::Failing::leave) == Drops::Outcome::fits;
    if (fits) settle();
    consider();
  }
  if (fits && model_->has_copies()) {
    tiers_.relax(*limit_);
    consider();
  }
  if (fits) starts_.push_back({seconds_now(), line_.runs()});
  return true;
}

bool Search::press(const std::vector<TaskId>& runs) {
  line_.assign(runs, kRoom);
  if (model_->has_copies() || !options_.recompute || !line_.sound()) return false;
  bool fits = drops_.repair(std::numeric_limits<double>::infinity(), 0, improve_.rng(),
                            100 + line_.run_count(), Drops::Failing::leave) == Drops::Outcome::fits;
  Bytes least = line_.peak();
  for (int in_vain = 0; in_vain < kInVain && !fits && options_.reorder && !limit_->time_is_up(); ++in_vain) {
    fits = reorder_and_repair();
    if (line_.peak() >= least) continue;
    // Worth going on with while that takes a tenth of what is over off.
    if (line_.peak() - options_.budget < (least - options_.budget) * 9 / 10) in_vain = -1;
    least = line_.peak();
  }
  consider();
  return fits;
}

// What is done in some blocks, in all of them.
bool Search::stitch_blocks(std::int32_t most_sources) {
  if (!blocks_ || !blocks_->found()) return false;
  std::vector<std::int32_t> sources;
  const std::int32_t count = blocks_->count();
  if (count <= most_sources) {
    for (std::int32_t k = 0; k < count; ++k) sources.push_back(k);
  } else {
    for (std::int32_t k = 0; k < most_sources; ++k)
      sources.push_back(static_cast<std::int32_t>(improve_.rng().below(count)));
  }
  return stitch(line_, *blocks_, options_.budget, sources, *limit_) > 0;
}

void Search::adopt(const Search& other) {
  starts_ = other.starts_;
  floor_ = other.floor_;
  tried_all_ = other.tried_all_;
  drops_.set_price(other.drops_.price());
  blocks_ = other.blocks_;
  adopt_best(other);
}

void Search::adopt_best(const Search& other) {
  if (other.least_peak_ < least_peak_) {
    least_peak_ = other.least_peak_;
    least_runs_ = other.least_runs_;
  }
  if (other.best_seconds_ >= best_seconds_) return;
  best_seconds_ = other.best_seconds_;
  best_ = other.best_;
}

std::vector<TaskId> Search::anneal_order(const std::vector<TaskId>& order, double hot, std::int64_t moves) {
  reorder_.load(order);
  reorder_.anneal({options_.budget - model_->base}, hot * mean_size_, 0.01 * mean_size_, moves,
                  improve_.rng());
  return reorder_.runs();
}

// Removes what is not needed, and again what second runs that come later make removable.
void Search::settle() {
  improve_.prune();
  const double before = line_.seconds();
  improve_.delay(options_.reorder);
  improve_.prune();
  if (line_.seconds() < before) improve_.delay(options_.reorder);
}

// Stuck: what is over the budget may go by order, and what then is left by more drops.
bool Search::reorder_and_repair() {
  const auto n = static_cast<std::int64_t>(line_.run_count());
  note_peak();
  reorder_.load(line_.runs());
  reorder_.anneal({options_.budget - model_->base}, mean_size_, 0.01 * mean_size_, 20 * n, improve_.rng());
  line_.assign(reorder_.runs(), kRoom);
  return drops_.repair(std::numeric_limits<double>::infinity(), 0.2, improve_.rng(), 100 + line_.run_count(),
                       Drops::Failing::leave) == Drops::Outcome::fits;
}

void Search::start_from(const std::vector<TaskId>& order, std::size_t first_rule, std::size_t last_rule) {
  using Side = CutRule::Side;
  static constexpr CutRule kRules[] = {{.side = Side::mixed},
                                       {.side = Side::mixed, .segments = 12},
                                       {.side = Side::fewer},
                                       {.side = Side::more},
                                       {.side = Side::mixed, .margin = 0.95, .segments = 6},
                                       {.side = Side::mixed, .margin = 0.9, .segments = 10},
                                       {.side = Side::mixed, .margin = 0.85, .segments = 20},
                                       {.side = Side::mixed, .segments = 40},
                                       {.side = Side::mixed, .most_cuts = 0}};
  // The larger the graph, the less its parts cost in what crosses them, and the less is left over to repair drop by drop.
  const CutRule large_rules[] = {{.side = Side::mixed},
                                 {.side = Side::mixed, .segments = std::max(16, model_->tasks / 4000)},
                                 {.side = Side::mixed, .segments = std::max(64, model_->tasks / 1000)}};
  const bool large = model_->tasks > kMiddling;
  const std::size_t count = std::min(last_rule, large ? std::size(large_rules) : std::size(kRules));
  for (std::size_t k = first_rule; k < count; ++k) {
    CutRule rule = large ? large_rules[k] : kRules[k];
    if (large && k + 1 < count) rule.give_up = 1.05;
    const auto [first_cut, seconds] = start_by(order, rule, std::numeric_limits<double>::infinity());
    // What waits may have been early for a reason that the moment of a cut does not show: for a gain alone.
    rule.wait = true;
    rule.worth = kWorthWaiting * first_cut;
    if (options_.reorder && found() && first_cut > 0) start_by(order, rule, seconds);
  }
}

// No start unless it takes less than `most_seconds`.
Search::StartedBy Search::start_by(const std::vector<TaskId>& order, CutRule rule, double most_seconds) {
  StartedBy by{0, std::numeric_limits<double>::infinity()};
  if (limit_->time_is_up() || best_seconds_ <= options_.enough || (found() && limit_->fraction() > 0.25))
    return by;
  const bool large = model_->tasks > kMiddling;
  rule.most_seconds = found() ? 1.4 * best_seconds_ : 4 * floor_;
  if (!large && model_->tasks > 500 && found()) rule.give_up = 1.2;
  line_.assign(order, kRoom);
  auto [fits, first_cut] = repair_by_cuts(line_, drops_, rule, improve_.rng(), *limit_);
  by.first_cut = first_cut;
  if (first_cut >= rule.worth) return by;
  // Once there is a plan, only what would be better.
  const auto promising = [&] { return !found() || line_.seconds() < best_seconds_; };
  for (int again = 0;
       again < 3 && !fits && promising() && options_.reorder && !large && !limit_->time_is_up(); ++again) {
    fits = reorder_and_repair();
  }
  note_peak();
  if (!fits) return by;
  settle();
  consider();
  if (stitch_blocks(kAllSources)) {
    settle();
    consider();
  }
  by.seconds = seconds_now();
  if (by.seconds < most_seconds) starts_.push_back({by.seconds, line_.runs()});
  return by;
}

void Search::start_with_copies(const std::vector<TaskId>& order) {
  line_.assign(order, kRoom);
  const bool fits = tiers_.repair(improve_.rng(), *limit_);
  note_peak();
  if (!fits) return;
  tiers_.prune(*limit_);
  improve_.prune();
  tiers_.relax(*limit_);
  consider();
  starts_.push_back({seconds_now(), line_.runs()});
}

std::vector<TaskId> Search::begin() {
  if (options_.blocks && options_.recompute && !model_->has_copies() && model_->tasks <= kMiddling)
    blocks_.emplace(*model_);
  std::vector<TaskId> given = model_->order;
  if (model_->has_copies()) given = with_required_copies(*model_, given, false);
  line_.assign(given, kRoom);
  floor_ = line_.seconds();
  return given;
}

bool Search::start_from_offer(const std::vector<TaskId>& runs) {
  begin();
  tried_all_ = offer(runs) && found();
  return tried_all_;
}

void Search::start(const std::function<bool()>& has_plan) {
  const std::vector<TaskId> given = begin();
  improve_.substitute();
  consider();
  if (model_->has_copies()) {
    line_.assign(with_required_copies(*model_, model_->order, true), kRoom);
    consider();
    line_.assign(given, kRoom);
    improve_.substitute();
    if (line_.peak() <= options_.budget) {
      tiers_.relax(*limit_);
      consider();
    }
  }
  if (found() && best_seconds_ <= floor_) return;
  std::vector<std::vector<TaskId>> orders{given, line_.runs()};
  // In a large problem this takes seconds, which somebody who says stop does not wait for.
  if (options_.reorder && (model_->tasks <= kSmall || !limit_->time_is_up())) {
    improve_.delay(true);
    improve_.advance();
    orders.insert(orders.begin(), line_.runs());
    consider();
    if (found() && best_seconds_ <= floor_) return;
  }
  const auto n = static_cast<std::int64_t>(model_->order.size());
  const auto late = [&] { return limit_->time_is_up() || (found() && limit_->fraction() > 0.25); };
  // A plan first, then better orders to start from.
  if (options_.recompute) start_from(orders.front(), 0, n <= kMiddling ? kFirstRules : kAllRules);
  if (has_plan && found() && !has_plan()) return;
  if (options_.reorder && n <= kMiddling && !model_->has_copies()) {
    // What is over at one moment is made again for it; so the fullest moment counts, and not how many are full.
    const auto start_from_order = [&](std::vector<TaskId> runs) {
      orders.push_back(std::move(runs));
      line_.assign(orders.back(), kRoom);
      consider();
      if (options_.recompute && !late()) start_from(orders.back(), 0, kFirstRules);
    };
    start_from_order(order(*model_->problem,
                           {.in_place = model_->has_in_place(), .time_limit = 1e9, .effort = kOrderStates}));
    reorder_.load(orders.front());
    reorder_.lower_peak(kSpikes);
    start_from_order(reorder_.runs());
    if (found() && best_seconds_ <= floor_) return;
  }
  if (options_.reorder && n <= kMiddling) {
    const Bytes room = options_.budget - model_->base;
    reorder_.load(orders.front());
    const double over = reorder_.overflow({room});
    for (const double hot : {0.5, 3.0, 12.0, 50.0}) {
      // Where order alone does not take most of the overflow away, more of it hardly does: not worth the time of a large problem.
      if (late() || (hot > 0.5 && n > kSmall && reorder_.overflow({room}) > 0.6 * over)) break;
      orders.push_back(anneal_order(orders.front(), hot, std::max<std::int64_t>(60 * n, 20000)));
      line_.assign(orders.back(), kRoom);
      consider();
      if (found() && best_seconds_ <= floor_) return;
    }
  }
  if (options_.tiers && model_->has_copies()) {
    start_with_copies(orders.front());
    start_with_copies(given);
  }
  if (options_.recompute) {
    for (std::size_t k = 0; k < orders.size(); ++k) {
      if (best_seconds_ <= options_.enough || late() || (found() && n > kMiddling)) break;
      const auto here = orders.begin() + static_cast<std::ptrdiff_t>(k);
      if (k == 0)
        start_from(orders[k], kFirstRules, kAllRules);
      else if (std::find(orders.begin(), here, orders[k]) == here)
        start_from(orders[k], 0, kFirstRules);
    }
    // What could not be had without waiting.
    const bool waits = options_.reorder && n <= kMiddling;
    for (std::size_t k = 0; waits && k < orders.size() && !found() && !limit_->time_is_up(); ++k)
      start_by(orders[k], {.wait = true}, std::numeric_limits<double>::infinity());
  }
  if (!found()) {
    shuffle(least_runs_);
    if (found()) starts_.push_back({best_seconds_, best_});
  }
  std::stable_sort(starts_.begin(), starts_.end(),
                   [](const Start& x, const Start& y) { return x.seconds < y.seconds; });
  // Equal ones lead to the same.
  starts_.erase(std::unique(starts_.begin(), starts_.end(),
                            [](const Start& x, const Start& y) { return x.runs == y.runs; }),
                starts_.end());
  if (starts_.size() > kMoreStarts) starts_.resize(kMoreStarts);
  tried_all_ = !limit_->time_is_up();
}

double Search::typical_extra() const {
  const auto extra = line_.run_count() - static_cast<std::int32_t>(model_->order.size());
  return std::max(0.0, line_.seconds() - floor_) / std::max(1, extra);
}

// One extra run goes, and the order makes up for it, or most of it.
bool Search::remove_and_reorder() {
  std::vector<TaskId> runs = line_.runs();
  std::vector<std::size_t> extra;
  std::vector<char> seen(static_cast<std::size_t>(model_->all), 0);
  // A second fetch is no second run: what it brings back was given up.
  const auto brings_back = [&](TaskId t) {
    if (t >= model_->tasks) return true;
    const auto writes = model_->writes[static_cast<std::size_t>(t)];
    return std::any_of(writes.begin(), writes.end(), [&](BufferId b) { return line_.copies_of(b) > 0; });
  };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    char& s = seen[static_cast<std::size_t>(runs[i])];
    if (s && !brings_back(runs[i])) extra.push_back(i);
    s = 1;
  }
  if (extra.empty()) return false;
  const std::size_t victim =
      extra[static_cast<std::size_t>(improve_.rng().below(static_cast<std::int64_t>(extra.size())))];
  runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(victim));
  reorder_.load(runs);
  const auto n = static_cast<std::int64_t>(runs.size());
  const Bytes room = options_.budget - model_->base;
  const double over = reorder_.overflow({room}), before = line_.seconds();
  const bool fits = reorder_.anneal({room}, 0.3 * mean_size_, 0.01 * mean_size_, 8 * n, improve_.rng());
  if (!fits && (model_->has_copies() || reorder_.overflow({room}) > kWorthRepair * over)) return false;
  const std::vector<TaskId> had = fits ? std::vector<TaskId>() : line_.runs();
  line_.assign(reorder_.runs(), kRoom);
  if (fits) return true;
  if (drops_.repair(before, 0, improve_.rng(), 64) == Drops::Outcome::fits && line_.seconds() < before)
    return true;
  line_.assign(had, kRoom);
  return false;
}

// Where few runs are second ones, the order is what is left to gain by; where many are, it is worth less than what goes again.
std::int64_t Search::between_shifts() const {
  const double extra = line_.run_count() - static_cast<double>(model_->order.size());
  const double part = extra / (kManyExtra * static_cast<double>(model_->order.size()));
  return 1 + static_cast<std::int64_t>(std::clamp(part, 0.0, 1.0) * (kBetweenShifts - 1));
}

void Search::rounds_from(const Start& start, const Stretch& stretch, const std::function<bool()>& go_on) {
  const auto [until, heat, length] = stretch;
  line_.assign(start.runs, kRoom);
  local_ = {std::numeric_limits<double>::infinity(), {}};
  const double from = limit_->fraction();
  const bool copies = model_->has_copies();
  double current = seconds_now(), least = current;
  const bool reorders = options_.reorder && model_->tasks <= kMiddling;
  std::int64_t round = 0, last_success = 0, last_stitched = 0;
  between_relocated_ = kOften;  // each start has its own order
  while (limit_->fraction() < until && !limit_->time_is_up() && best_seconds_ > options_.enough &&
         (length > 0 ? round < length : round <= 2 * last_success + kPatience) && limit_->spend_round()) {
    ++round;
    double left = std::max(0.0, (until - limit_->fraction()) / (until - from));
    if (length > 0) left = std::min(left, 1 - static_cast<double>(round) / static_cast<double>(length));
    const double slack = heat * left * left * typical_extra() * -std::log(improve_.rng().uniform() + 1e-12);
    bool changed = round % kKinds == 0   ? improve_.exchange(slack)
                   : round % kKinds == 1 ? improve_.swap(slack)
                                         : improve_.ruin_and_recreate(slack);
    if (round % kBetweenTrades == 0 && !copies) changed |= improve_.trade();
    if (changed && copies && seconds_now() > current + slack) {
      // A stall that the sum of the runs does not show.
      line_.undo_to(0);
      changed = false;
    }
    if (reorders && --until_reorder_ <= 0) {
      const bool better = remove_and_reorder();
      between_reorders_ = std::clamp(better ? between_reorders_ / 2 : between_reorders_ * 1.5, 4.0, 1024.0);
      until_reorder_ = static_cast<std::int64_t>(between_reorders_);
      changed |= better;
    }
    if (reorders && !copies && --until_relocated_ <= 0) {
      const double was = line_.seconds();
      const bool moved = improve_.relocate(slack);
      const bool better = moved && line_.seconds() < was;
      between_relocated_ = std::clamp(better ? between_relocated_ / 2 : between_relocated_ * 1.3, 2.0, 192.0);
      until_relocated_ = static_cast<std::int64_t>(between_relocated_);
      changed |= moved;
    }
    if (reorders && !copies && round % between_shifts() == 0) changed |= improve_.shift(slack);
    if (changed) {
      line_.forget_log();
      current = seconds_now();
      consider();
    }
    if (round % 32 == 0 && !copies && model_->tasks <= kMiddling) {
      settle();
      line_.forget_log();
      current = seconds_now();
      consider();
    }
    if (round % 128 == 0 && last_success > last_stitched && stitch_blocks(kSources)) {
      last_stitched = round;
      line_.forget_log();
      current = seconds_now();
      consider();
    }
    if (current < least * (1 - 1e-9)) {
      least = current;
      last_success = round;
    }
    if (round % kBetweenQuestions == 0 && !go_on()) limit_->stop();
    if (round % 512 == 0 && current > best_seconds_ + 8 * heat * typical_extra()) {
      line_.assign(best_, kRoom);
      current = seconds_now();
    }
  }
  improve_.substitute();
  settle();
  if (copies) tiers_.relax(*limit_);
  line_.forget_log();
  consider();
}

void Search::meet(const Search& other) {
  adopt_best(other);
  if (!other.found()) return;
  local_ = {other.best_seconds_, other.best_};
  relink();
}

// The best of the last stretch against those of earlier ones: what either does better in a part of the time is tried in the other.
void Search::relink() {
  if (model_->has_copies() || model_->tasks > kMiddling || local_.runs.empty()) return;
  Start mine = local_;
  for (const Start& theirs : elite_) {
    if (theirs.runs == mine.runs) continue;
    blend({mine.seconds, mine.runs}, theirs);
    blend(theirs, mine);
  }
  blend({best_seconds_, best_}, mine);
  const auto same = [&](const Start& e) { return e.seconds == mine.seconds; };
  if (std::any_of(elite_.begin(), elite_.end(), same)) return;
  elite_.push_back(std::move(mine));
  std::stable_sort(elite_.begin(), elite_.end(),
                   [](const Start& x, const Start& y) { return x.seconds < y.seconds; });
  if (elite_.size() > kElite) elite_.pop_back();
}

// Stretch by stretch: what is better stays.
void Search::blend(Start base, const Start& other) {
  for (std::size_t width = 1; width <= kBlended; ++width) {
    const Relink relink(*model_, base.runs, other.runs);
    const std::size_t count = relink.stretches();
    for (std::size_t first = 0; first + width <= count && first < kMostBlends; ++first) {
      if (limit_->time_is_up() || best_seconds_ <= options_.enough) return;
      if (relink.seconds_more(first, first + width) >= 0) continue;
      line_.assign(relink.blend(first, first + width), kRoom);
      if (!line_.sound()) continue;
      if (line_.peak() > options_.budget &&
          drops_.repair(base.seconds, 0, improve_.rng(), 64) != Drops::Outcome::fits)
        continue;
      settle();
      const double seconds = line_.seconds();
      if (seconds >= base.seconds * (1 - 1e-9)) continue;
      base = {seconds, line_.runs()};
      consider();
      blend(std::move(base), other);
      return;
    }
  }
}

// A little from each start, more from those that come out best, and so on (successive halving: Jamieson & Talwalkar 2016): how good a
// start is shows only after some rounds.
void Search::race(const std::function<bool()>& go_on) {
  std::vector<Start> field(
      starts_.begin(), starts_.begin() + static_cast<std::ptrdiff_t>(std::min(starts_.size(), kMoreStarts)));
  double until = limit_->fraction();
  if (field.empty()) return;
  // None that is far behind wins.
  const double most = floor_ + kFarBehind * (field.front().seconds - floor_);
  std::erase_if(field,
                [&](const Start& start) { return start.seconds > std::max(most, field.front().seconds); });
  while (field.size() > 1) {
    const double each = kRace / kTurns / static_cast<double>(field.size());
    for (Start& start : field) {
      until += each;
      rounds_from(start, {.until = until, .heat = kHeat}, go_on);
      if (local_.seconds < start.seconds) start = local_;
      if (limit_->time_is_up() || best_seconds_ <= options_.enough) return;
    }
    std::stable_sort(field.begin(), field.end(),
                     [](const Start& x, const Start& y) { return x.seconds < y.seconds; });
    field.erase(std::unique(field.begin(), field.end(),
                            [](const Start& x, const Start& y) { return x.runs == y.runs; }),
                field.end());
    field.resize(std::min(field.size(), (field.size() + 1) / 2));
  }
  for (Start& start : field) {
    local_ = std::move(start);
    relink();
  }
}

// From the start that wins the race. When nothing more is found there: hotter, from the best, from the best with a part of it made anew
// and from the starts in turn, longer each time (iterated local search: Lourenco, Martin, Stuetzle 2003).
void Search::improve(const std::function<bool()>& go_on) {
  if (starts_.empty() || !options_.recompute) return;
  race(go_on);
  // Starts that fit the budget may all be over a tier's capacity.
  if (!found()) return;
  shuffle(best_);
  rounds_from({best_seconds_, best_}, {.until = 1, .heat = kHeat}, go_on);
  relink();
  for (std::size_t k = 0; limit_->fraction() < 1 && !limit_->time_is_up() && best_seconds_ > options_.enough;
       ++k) {
    Start next{best_seconds_, best_};
    if (k % 4 == 2) {
      line_.assign(best_, kRoom);
      if (improve_.shake(0.2 + 0.8 * improve_.rng().uniform())) next.runs = line_.runs();
    } else if (k % 4 == 3) {
      next = starts_[k / 4 % starts_.size()];
    }
    const auto length = static_cast<std::int64_t>(kPatience * (2 + k / 2));
    rounds_from(next, {.until = 1, .heat = k % 4 == 1 ? 0.5 : 1, .length = length}, go_on);
    relink();
    shuffle(k % 2 == 0 ? best_ : next.runs);
  }
}

}  // namespace tidemark::plan
