// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/bound.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "tidemark/plan/branch.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/order_split.h"
#include "tidemark/plan/stage_search.h"

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// Of the floor, to a plan that is known: what branching at one moment closes in less time than programs of several.
constexpr double kSmallGap = 0.002;
constexpr double kShareOfOne = 0.5;  // of the time, for that; the rest is for programs where it does not
// Of the floor, to a plan that is known: for cases by order to be looked for with cuts, and with programs; of the time, to look for them.
constexpr double kOrderGap = 0.0005, kProgramGap = 0.01, kOrderShare = 0.4;
// What the cases that programs show have to close of the gap, which is taken to be no more than so much of the floor.
constexpr double kPartOfGap = 0.15, kMostGap = 0.05;
constexpr double kProgramsShare = 0.35;   // of the time, to choose moments; the rest is for branching
constexpr double kUnhurried = 0.15;       // of the time: until then moments that add little are taken too
constexpr double kLongerAndLonger = 1.5;  // than the longest program so far: what the next may take
constexpr double kOutOfReach =
    0.004;  // of the floor: so much more is not made up for by branching at one moment

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

class Search {
 public:
  // `orders`: the case, where it is one of several; `values` are of the same.
  Search(const Values& values, const BoundOptions& options, std::vector<Certificate::Case> orders = {})
      : v_(values), o_(options), limit_(options.time_limit, -1) {
    limit_.watch(options.stop);
    limit_.ask(options.go_on);
    certificate_.unit_exponent = unit_exponent_for(values.floor_seconds);
    certificate_.orders = std::move(orders);
  }

  BoundResult run() {
    prove();
    result_.leaves = 0;
    for (const Certificate& c : cases_) result_.leaves += static_cast<int>(c.leaves.size());
    if (result_.infeasible) result_.seconds = v_.floor_seconds;
    if (o_.peak || result_.infeasible)
      result_.peak = peak_bound(v_, 64, result_.infeasible ? result_.moment : -1);
    result_.infeasible = o_.budget >= 0 && result_.peak.bytes > o_.budget;
    if (o_.certificate)
      result_.proof.json = proof_json(cases_, o_.peak || result_.infeasible ? &result_.peak : nullptr);
    order_choices();
    return std::move(result_);
  }

 private:
  // Leaves the seconds and the cases that prove them.
  void prove() {
    result_.seconds = result_.floor_seconds = v_.floor_seconds;
    if (o_.budget >= 0 && v_.tasks() > 0) {
      live_ = profile(v_);
      for (TaskId t = 0; t < v_.tasks(); ++t) {
        if (v_.sole[at(t)] && live_[at(t)] > o_.budget) moments_.push_back(t);
      }
      result_.price = o_.price;
      if (!v_.problem.tiers.empty()) {
        weigh_links();
      } else {
        if (o_.moment >= 0) look_at(o_.moment);
        if (o_.moment < 0 || o_.scan) scan();
      }
      if (!result_.infeasible) take(shown_);
      if (!split_by_cuts()) branch_somewhere();
      if (!cases_.empty()) return;
    }
    if (result_.infeasible && !certificate_.orders.empty()) show_impossible();
    if (certificate_.leaves.empty()) certificate_.leaves.emplace_back();
    if (certificate_.moments.empty()) result_.seconds = v_.floor_seconds;
    result_.moments = certificate_.moments;
    cases_.push_back(std::move(certificate_));
  }

  // Where the gap is small, at one moment first; else at several, or in cases after all, and at one where that may do more.
  void branch_somewhere() {
    if (result_.moment < 0 || result_.infeasible) return;
    const double single = result_.seconds;
    const bool small = o_.known_seconds - single < kSmallGap * v_.floor_seconds;
    if (small) branch_at_best(o_.stages ? kShareOfOne : 1);
    StageSearch several =
        small && result_.seconds >= o_.known_seconds ? StageSearch() : search_more_moments();
    if (several.program && split_by_programs()) return;
    const bool far = small || result_.seconds > single + kOutOfReach * v_.floor_seconds;
    if (several.program) branch_at_moments(std::move(several.program), far);
    if (certificate_.leaves.empty() || (!far && result_.seconds < o_.known_seconds)) branch_at_best(1);
  }

  // A case without plans.
  void show_impossible() {
    CutModel model(v_, result_.moment);
    Certificate found{.moments = {result_.moment}, .unit_exponent = certificate_.unit_exponent};
    model.least_stored(&found.leaves.emplace_back());
    found.leaves[0].impossible = true;
    const Evaluation check(v_, found.moments, found.unit_exponent, o_.budget);
    if (check.seconds(found.leaves[0]) != std::numeric_limits<double>::infinity()) return;
    result_.seconds = std::numeric_limits<double>::infinity();
    set_certificate(std::move(found));
  }

  bool may_split(double least_gap) const {
    constexpr std::size_t kMostOrders = 6;
    constexpr int kMostTasks = 4000;  // beyond, the time is for one cut
    return o_.orders && o_.branch && v_.problem.tiers.empty() && v_.tasks() <= kMostTasks &&
           certificate_.orders.size() < kMostOrders && result_.moment >= 0 && !result_.infeasible &&
           o_.known_seconds - result_.seconds >= least_gap * v_.floor_seconds;
  }

  OrderOptions order_options() const {
    return {.budget = o_.budget,
            .moment = result_.moment,
            .price = result_.price,
            .seconds = result_.seconds,
            .enough = o_.known_seconds,
            .limit = &limit_};
  }

  bool split_by_cuts() {
    if (!may_split(kOrderGap)) return false;
    OrderOptions options = order_options();
    options.go_on = [&](int cuts) { return (result_.cuts += cuts) < o_.effort && may_screen(kOrderShare); };
    std::optional<OrderSplit> split = choose_order(v_, held_orders(certificate_.orders), options);
    return split && split_by(std::move(*split), -1);  // the hard moment may be another in each
  }

  bool split_by_programs() {
    if (!may_split(kProgramGap)) return false;
    OrderOptions options = order_options();
    double begun = -1, longest = 2 * seconds_of_program();
    options.go_on = [&](int) {
      const double now = limit_.elapsed();
      if (begun >= 0) longest = std::max(longest, now - begun);
      begun = now;
      result_.cuts += 2 * cuts_for_program(2);
      return may_screen(kOrderShare) && now + longest < o_.time_limit;
    };
    const double gap = std::min(o_.known_seconds - result_.seconds, kMostGap * v_.floor_seconds);
    std::optional<OrderSplit> split =
        choose_order_by_programs(v_, held_orders(certificate_.orders), options, kPartOfGap * gap);
    return split && split_by(std::move(*split), result_.moment);
  }

  // Every plan is of one case or the other: what is proven of both holds. False: no more is proven of one of them. `moment`: of both, or -1.
  bool split_by(OrderSplit split, TaskId moment) {
    constexpr double kShareOfLower = 0.8;  // of what is left; the other has to come up to it, no further
    BoundResult part[2];
    std::vector<Certificate> cases[2];
    const int lower = split.holds.seconds < split.turned.seconds ? 0 : 1;
    for (const int which : {lower, 1 - lower}) {
      std::vector<Certificate::Case> orders = certificate_.orders;
      orders.push_back({split.order, which == 1});
      const Values values(v_.problem, held_orders(orders));
      BoundOptions options = o_;
      options.moment = moment;
      const double share = which == lower ? kShareOfLower : 1;
      options.time_limit = share * std::max(0.0, o_.time_limit - limit_.elapsed());
      options.effort = static_cast<std::int64_t>(share * static_cast<double>(o_.effort - result_.cuts));
      if (which != lower) options.known_seconds = std::min(o_.known_seconds, part[lower].seconds);
      const TaskId first = orders.back().holds().first;
      Search search(values, options, std::move(orders));
      search.also_ = first;
      search.shown_ = std::move(which == 1 ? split.turned : split.holds);
      search.prove();
      result_.cuts += search.result_.cuts;
      part[which] = std::move(search.result_);
      cases[which] = std::move(search.cases_);
      if (part[which].seconds <= result_.seconds) return false;
    }
    const double least = std::min(part[0].seconds, part[1].seconds);
    if (least <= result_.seconds || least == std::numeric_limits<double>::infinity()) return false;
    result_.seconds = least;
    result_.moments = part[part[1].seconds < part[0].seconds ? 1 : 0].moments;
    cases_ = std::move(cases[0]);
    std::move(cases[1].begin(), cases[1].end(), std::back_inserter(cases_));
    return true;
  }

  // Worth it only where runs need much of the budget by themselves.
  StageSearch search_more_moments() {
    if (!o_.stages) return {};
    StageOptions options{.budget = o_.budget, .enough = o_.known_seconds, .also = also_, .limit = &limit_};
    // What a program costs in seconds, as the programs before show.
    double begun = limit_.elapsed(), longest = seconds_of_program();
    const double until = begun + kProgramsShare * (o_.time_limit - begun);
    options.unhurried = [&] { return limit_.elapsed() < kUnhurried * o_.time_limit; };
    int under_way = 0;
    options.go_on = [&](int moments) {
      // One of a single moment says where a second would be: it is for nothing without time for two.
      const std::int64_t cuts = cuts_for_program(std::max(moments, 2));
      const double now = limit_.elapsed();
      if (under_way > 1) longest = std::max(longest, now - begun);
      begun = now;
      under_way = moments;
      if (limit_.time_is_up() || now + kLongerAndLonger * longest > until || result_.cuts + cuts > o_.effort)
        return false;
      result_.cuts += cuts;
      return true;
    };
    StageSearch found = search_stages(v_, result_.moment, result_.seconds, options);
    take(found.best);
    return found;
  }

  void take(const StageBound& b) {
    if (b.seconds <= result_.seconds) return;
    result_.seconds = b.seconds;
    set_certificate(b.certificate);
  }

  void set_certificate(Certificate found) {
    found.orders = std::move(certificate_.orders);
    certificate_ = std::move(found);
  }

  // What a program of few moments costs, about.
  double seconds_of_program() const {
    const double size = 1e-3 * (v_.tasks() + v_.values());
    return 3e-3 * size * size;
  }

  // What a program costs, in cuts: it grows with the square of the unknowns.
  std::int64_t cuts_for_program(int moments) const {
    const double size = 1e-3 * (v_.tasks() + v_.values()) * moments;
    return static_cast<std::int64_t>(4 * size * size) + 1;
  }

  // `last`: nothing follows.
  void branch_at_moments(std::unique_ptr<StageProgram> program, bool last) {
    if (!o_.branch || result_.seconds >= o_.known_seconds) return;
    // The proof has the rows of every leaf.
    constexpr std::int64_t kMostRows = 200'000;
    const Certificate::Leaf root = program->leaf();
    const auto rows = static_cast<std::int64_t>(root.need.size() + root.keep.size() + root.parts.size() + 1);
    // Half of what is left where something follows.
    double begun = -1, longest = 0;
    const double until = last ? o_.time_limit : 0.5 * (limit_.elapsed() + o_.time_limit);
    const std::int64_t most_cuts = result_.cuts + (o_.effort - result_.cuts) / 2;
    StageBranchOptions options{
        .enough = o_.known_seconds,
        .leaves = static_cast<int>(std::min<std::int64_t>(o_.leaves, kMostRows / rows))};
    // From one basis to the next is a part of the way.
    const std::int64_t cuts_for_split = cuts_for_program(static_cast<int>(program->moments().size())) / 8 + 1;
    options.go_on = [&] {
      const double now = limit_.elapsed();
      if (begun >= 0) longest = std::max(longest, now - begun);
      begun = now;
      if (limit_.time_is_up() || now + 2 * longest > until || result_.cuts + cuts_for_split > most_cuts)
        return false;
      result_.cuts += cuts_for_split;
      return true;
    };
    take(branch_and_grow(v_, std::move(program), options));
  }

  // `share`: of the time that is left.
  void branch_at_best(double share) {
    CutModel model(v_, result_.moment);
    model.limit_work(work_limit(), &limit_);
    model.set_links(links_);
    BranchOptions options{.budget = o_.budget,
                          .enough = o_.known_seconds,
                          .leaves = o_.branch ? o_.leaves : 1,
                          .price = result_.price};
    const std::int64_t before = result_.cuts;
    const double until = limit_.elapsed() + share * (o_.time_limit - limit_.elapsed());
    const auto most_cuts =
        before + static_cast<std::int64_t>(share * static_cast<double>(o_.effort - before));
    options.go_on = [&] {
      result_.cuts = before + model.cuts_made();
      return result_.cuts < most_cuts && more_time() && (share == 1 || limit_.elapsed() < until);
    };
    Certificate found = branch(v_, model, options);
    const Evaluation check(v_, found.moments, found.unit_exponent, o_.budget);
    double least = std::numeric_limits<double>::infinity();
    for (const auto& leaf : found.leaves) least = std::min(least, check.seconds(leaf));
    result_.cuts = before + model.cuts_made();
    if (least == std::numeric_limits<double>::infinity())
      return;  // no plan at all; what that means is the peak's
    if (least <= (certificate_.leaves.empty() ? v_.floor_seconds : result_.seconds)) return;
    result_.seconds = least;
    set_certificate(std::move(found));
  }

  bool more_time() const { return result_.cuts < o_.effort && !limit_.time_is_up(); }

  struct Try {
    double seconds = 0;
    BoundResult::Choice choice;
  };

  // So many arcs a second, fewer of networks that no cache holds: far beyond the time limit only where they are unusually deep.
  std::int64_t work_limit() const {
    constexpr int kInCache = 200'000;  // tasks
    const double rate = v_.tasks() <= kInCache ? 4e8 : 1e8;
    return static_cast<std::int64_t>(rate * std::clamp(o_.time_limit, 0.05, 1e3));
  }

  // All that is left, but for what the proof of the best moment so far takes: without that it is worth nothing.
  Limit until_proof() const {
    constexpr double kAgain = 1.5;  // times what the look took
    const double left = limit_.left();
    return limit_.rest(left > 0 ? std::max(0.0, 1 - kAgain * look_seconds_ / left) : 0);
  }

  void look_at(TaskId t) {
    const Limit limit = until_proof();
    if (tried_.count(t) != 0 || !more_time() || limit.time_is_up()) return;
    const double begun = limit_.elapsed();
    CutModel model(v_, t);
    model.limit_work(work_limit(), &limit);
    model.set_links(links_);
    Try& entry = tried_[t];
    const Cut c =
        model.best(o_.budget, o_.known_seconds, &entry.choice.more, &entry.choice.less, result_.price);
    entry.seconds = c.seconds;
    result_.cuts += model.cuts_made();
    if (c.seconds == std::numeric_limits<double>::infinity()) {
      result_.infeasible = true;
      result_.moment = t;
    }
    if (result_.infeasible || c.seconds <= result_.seconds) return;
    result_.seconds = c.seconds;
    result_.moment = t;
    result_.price = c.price;
    look_seconds_ = limit_.elapsed() - begun;
  }

  // How much the streams of the tiers count. What they give is concave in the weights, so a search by pattern finds good
  // ones; tiers share a weight by their rates, so that a byte costs the same through each.
  void set_weights(double read, double write) {
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
  void weigh_links() {
    if (moments_.empty()) return;
    const TaskId fullest = *std::max_element(moments_.begin(), moments_.end(),
                                             [&](TaskId a, TaskId b) { return live_[at(a)] < live_[at(b)]; });
    double best_read = 0, best_write = 0;
    const auto search = [&](TaskId t) {
      CutModel model(v_, t);
      model.limit_work(work_limit(), &limit_);
      const auto value = [&](double read, double write) {
        if (read < 0 || write < 0 || read > 1 || write > 1 || !may_screen(0.8)) return -1.0;
        set_weights(read, write);
        model.set_links(links_);
        const std::int64_t before = model.cuts_made();
        const double seconds =
            model.best(o_.budget, o_.known_seconds, nullptr, nullptr, result_.price).seconds;
        result_.cuts += model.cuts_made() - before;
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
    search(fullest);
    if (best_read == 0 && best_write == 0) {
      for (std::size_t i = 1; i < 8 && best_read == 0 && best_write == 0; ++i)
        search(moments_[i * (moments_.size() - 1) / 8]);
    }
    set_weights(best_read, best_write);
    if (best_read == 0 && best_write == 0) return;
    scan();
    if (result_.moment < 0 || result_.infeasible) return;
    search(result_.moment);
    set_weights(best_read, best_write);
    tried_.erase(result_.moment);
    look_at(result_.moment);
  }

  // One cut at the best price so far: what a moment promises.
  double screen(TaskId t) {
    const auto [entry, fresh] = screened_.try_emplace(t, 0.0);
    if (!fresh) return entry->second;
    const Limit limit = until_proof();
    CutModel model(v_, t);
    model.limit_work(work_limit(), &limit);
    model.set_links(links_);
    ++result_.cuts;
    return entry->second = model.cut(result_.price, o_.budget).seconds;
  }
  bool may_screen(double share) const {
    return !limit_.time_is_up() && limit_.elapsed() < share * o_.time_limit &&
           static_cast<double>(result_.cuts) < share * static_cast<double>(o_.effort) && !result_.infeasible;
  }

  // Of some moments, that of which the most is sure: what has run by then and what has not. Towers that meet in the loss, say, are all sure there alone, and at other
  // moments the activations of one of them need not be there. Of equals the fullest; -1 where nearly all is sure at the fullest of all.
  TaskId clearest() const {
    constexpr std::int64_t kLooks = 40, kMostWork = 50'000;  // tasks looked at, about
    constexpr int kMostTasks = 20'000;                       // beyond, a look takes as long as a cut should
    constexpr double kClear = 0.95;
    if (v_.tasks() > kMostTasks || !certificate_.orders.empty()) return -1;
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
  void scan() {
    const std::vector<TaskId>& moments = moments_;
    if (moments.empty()) return;
    const TaskId fullest = *std::max_element(moments.begin(), moments.end(),
                                             [&](TaskId a, TaskId b) { return live_[at(a)] < live_[at(b)]; });
    look_at(fullest);
    if (const TaskId t = clearest(); t >= 0) look_at(t);
    const auto last = static_cast<std::int64_t>(moments.size()) - 1;
    const auto moment = [&](std::int64_t i) { return moments[static_cast<std::size_t>(i)]; };
    constexpr std::int64_t kGrid = 16;
    std::int64_t step = std::max<std::int64_t>(1, (last + 1) / kGrid);
    const bool few = v_.tasks() < 4000 && o_.price == 0;
    // Every second of what is left each time, so that little time sees all of it coarsely.
    for (std::int64_t apart = 2 * kGrid * step; apart >= step; apart /= 2) {
      const std::int64_t first = step / 2 + (apart > step ? apart / 2 : 0);
      for (std::int64_t i = first; i <= last && may_screen(0.5); i += apart)
        if (few || result_.moment < 0 || screen(moment(i)) > result_.seconds) look_at(moment(i));
    }
    // Where parts of a program do not wait for each other (towers that meet in the loss), few moments prove anything.
    for (std::int64_t finer = step / 2; finer > 0 && result_.moment < 0 && may_screen(0.5); finer /= 2)
      for (std::int64_t i = finer / 2; i <= last && may_screen(0.5); i += finer) look_at(moment(i));
    if (result_.moment < 0 || result_.infeasible) return;
    const auto place = [&](TaskId t) {
      return std::lower_bound(moments.begin(), moments.end(), t) - moments.begin();
    };
    for (; step > 0; step /= 2) {
      for (bool better = true; std::exchange(better, false);) {
        const std::int64_t here = place(result_.moment);
        for (const std::int64_t i : {here - step, here + step}) {
          if (i < 0 || i > last || !may_screen(0.7) || screen(moment(i)) <= result_.seconds) continue;
          look_at(moment(i));
          better = place(result_.moment) != here;
          if (better) break;
        }
      }
    }
    result_.hurried = !may_screen(0.7) && !result_.infeasible;
    for (const TaskId center : {result_.moment, fullest}) {
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

  void order_choices() {
    std::vector<const Try*> order;
    for (const auto& [t, entry] : tried_) order.push_back(&entry);
    std::stable_sort(order.begin(), order.end(),
                     [](const Try* a, const Try* b) { return a->seconds > b->seconds; });
    for (const Try* t : order) {
      if (result_.choices.size() < 8) result_.choices.push_back(t->choice);
    }
  }

  const Values& v_;
  BoundOptions o_;
  Limit limit_;
  std::vector<Bytes> live_;
  std::vector<TaskId> moments_;           // with something to prove
  std::vector<Certificate::Link> links_;  // with tiers
  TaskId also_ = -1;                      // of a case by order, which may be hard beside the best moment
  StageBound shown_;                      // of such a case, when it was chosen
  double look_seconds_ = 0;               // that the look at the best moment took
  std::map<TaskId, Try> tried_;
  std::map<TaskId, double> screened_;
  Certificate certificate_;         // of this case, while it is looked for
  std::vector<Certificate> cases_;  // at the end: this one, or those that it was split into
  BoundResult result_;
};

}  // namespace

BoundResult bound(const Values& values, const BoundOptions& options) { return Search(values, options).run(); }

BoundResult bound(const Problem& problem, const BoundOptions& options) {
  const Values values(problem);
  return bound(values, options);
}

}  // namespace tidemark::plan
