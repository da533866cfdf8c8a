// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/stand_ins.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>

#include "tidemark/base/error.h"
#include "tidemark/plan/bound.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/cpu_clock.h"

namespace tidemark::plan {
namespace {

constexpr std::size_t kMostSingles = 8;  // stand-ins that are tried one by one
constexpr std::size_t kMostOneByOne = 64;
constexpr double kList = 0.5;     // of the time, for the list as it is
constexpr double kTrials = 0.25;  // for all choices; the rest is for the best of them
constexpr double kLeastBound = 0.05;
constexpr std::int64_t kCountedCuts = 800;  // of the bound, where rounds are counted instead of time

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

bool is_stand_in(const Task& t) { return t.optional && updates(t); }

// The list with other updates in it.
struct Roles {
  Problem problem;
  std::vector<TaskId> id;  // by its tasks: which task of the problem as given it is

  std::vector<TaskId> listed() const {
    std::vector<TaskId> list;
    for (std::size_t t = 0; t < id.size(); ++t) {
      if (!problem.tasks[t].optional) list.push_back(id[t]);
    }
    return list;
  }
};

// The version of a buffer that a task reads or writes, and whether it leaves the next one.
struct Touch {
  BufferId buffer;
  std::int32_t version;
  bool updates;
  auto operator<=>(const Touch&) const = default;
};
using Touches = std::vector<std::set<Touch>>;  // by task

Touches touches_of(const Problem& p) {
  const auto n = static_cast<TaskId>(p.tasks.size());
  std::vector<std::set<BufferId>> in;
  std::vector<std::vector<TaskId>> updates_of(p.buffers.size());
  for (TaskId t = 0; t < n; ++t) {
    in.emplace_back(p.tasks[at(t)].reads.begin(), p.tasks[at(t)].reads.end());
    for (const BufferId b : p.tasks[at(t)].writes) {
      if (!p.tasks[at(t)].optional && in.back().contains(b)) updates_of[at(b)].push_back(t);
    }
  }
  const auto version = [&](BufferId b, TaskId place) {
    const auto& list = updates_of[at(b)];
    return static_cast<std::int32_t>(std::lower_bound(list.begin(), list.end(), place) - list.begin());
  };
  Touches touches(p.tasks.size());
  for (TaskId t = 0; t < n; ++t) {
    const Task& task = p.tasks[at(t)];
    // A stand-in finds what the update does, wherever it stands.
    const TaskId update = task.optional ? task.instead_of : t;
    for (const BufferId b : task.writes) {
      const bool updates = in[at(t)].erase(b) > 0;
      touches[at(t)].insert({b, version(b, updates ? update : t), updates});
    }
    for (const BufferId b : in[at(t)]) touches[at(t)].insert({b, version(b, t), false});
  }
  return touches;
}

// Every task that may run reads and makes the versions that it does in the problem as given.
bool is_same(const Touches& given, const Roles& roles) {
  if (!verify(roles.problem).empty()) return false;
  const Touches now = touches_of(roles.problem);
  for (std::size_t t = 0; t < now.size(); ++t) {
    if (is_stand_in(roles.problem.tasks[t])) continue;  // the search does not run these
    if (now[t] != given[at(roles.id[t])]) return false;
  }
  return true;
}

// Optional task `o` in the place of the one it stands in for.
void put_there(Roles& roles, std::size_t o) {
  auto& tasks = roles.problem.tasks;
  const std::size_t place = at(tasks[o].instead_of);
  std::swap(tasks[o], tasks[place]);
  std::swap(roles.id[o], roles.id[place]);
  std::swap(tasks[o].optional, tasks[place].optional);
  std::swap(tasks[o].instead_of, tasks[place].instead_of);
}

// In its own place: what it reads may not be there before.
void put_here(Roles& roles, std::size_t o) {
  auto& tasks = roles.problem.tasks;
  const TaskId place = tasks[o].instead_of;
  for (Task& t : tasks) {
    if (t.instead_of == place) t.instead_of = static_cast<TaskId>(o);
  }
  tasks[o].optional = false;
  tasks[o].instead_of = -1;
  tasks[at(place)].optional = true;
  tasks[at(place)].instead_of = static_cast<TaskId>(o);
}

// The tasks in another order; `order` says which stands where.
void put_in_order(Roles& roles, const std::vector<TaskId>& order) {
  const Roles was = roles;
  std::vector<TaskId> now(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) now[at(order[i])] = static_cast<TaskId>(i);
  for (std::size_t i = 0; i < order.size(); ++i) {
    Task& t = roles.problem.tasks[i] = was.problem.tasks[at(order[i])];
    if (t.instead_of >= 0) t.instead_of = now[at(t.instead_of)];
    roles.id[i] = was.id[at(order[i])];
  }
}

// In the place of the one it stands in for, with what makes its reads brought before it: that stands behind, and others read the update
// before it does.
void bring_forward(Roles& roles, std::size_t o) {
  const auto& tasks = roles.problem.tasks;
  const auto place = at(tasks[o].instead_of);
  if (place > o) return put_there(roles, o);
  // Backwards from the stand-in: what is read and not made yet. The last maker before is the one whose version is read.
  std::set<BufferId> wanted(tasks[o].reads.begin(), tasks[o].reads.end());
  for (const BufferId b : tasks[o].writes) wanted.erase(b);
  std::vector<TaskId> made;
  for (std::size_t t = o; t-- > place + 1;) {
    const Task& task = tasks[t];
    const auto is_wanted = [&](BufferId b) { return wanted.contains(b); };
    if (task.optional || std::none_of(task.writes.begin(), task.writes.end(), is_wanted)) continue;
    for (const BufferId b : task.writes) wanted.erase(b);
    wanted.insert(task.reads.begin(), task.reads.end());
    made.push_back(static_cast<TaskId>(t));
  }
  std::vector<TaskId> order;
  for (std::size_t t = 0; t < place; ++t) order.push_back(static_cast<TaskId>(t));
  order.insert(order.end(), made.rbegin(), made.rend());
  for (std::size_t t = place; t < tasks.size(); ++t) {
    if (std::find(made.begin(), made.end(), static_cast<TaskId>(t)) == made.end())
      order.push_back(static_cast<TaskId>(t));
  }
  put_in_order(roles, order);
  put_there(roles, o);
}

// With stand-in `task` of the problem as given. Only the first way leaves the others where they are in the order.
std::optional<Roles> take(const Touches& given, const Roles& from, TaskId task, bool reorder) {
  const auto o = at(static_cast<TaskId>(std::find(from.id.begin(), from.id.end(), task) - from.id.begin()));
  if (!from.problem.tasks[o].optional) return {};
  for (const auto put : {put_there, put_here, bring_forward}) {
    Roles roles = from;
    put(roles, o);
    if (is_same(given, roles)) return roles;
    if (!reorder) break;
  }
  return {};
}

bool is_better(const Plan& a, const Plan& b) {
  return has_plan(a) && (!has_plan(b) || a.seconds < b.seconds);
}

class StandIns {
 public:
  StandIns(const Problem& problem, const Options& options, bool below, const SearchList& search)
      : problem_(problem), options_(options), below_(below), search_(search), given_(touches_of(problem)) {
    options_.progress = [this](const Progress& p) {
      stopped_ = stopped_ || (ask_ && !ask_(p));
      return !stopped_;
    };
    ask_ = options.progress;
    for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
      if (is_stand_in(problem.tasks[t])) all_.push_back(static_cast<TaskId>(t));
    }
  }

  Plan run() {
    Options list = options_;
    if (!counted()) list.time_limit = kList * options_.time_limit;
    Plan plan = search_(problem_, list, below_);
    const bool impossible = plan.peak_bound && options_.budget >= 0 && *plan.peak_bound > options_.budget;
    if (plan.status == Plan::Status::optimal || impossible || stopped_) return plan;
    Roles as_given{problem_, std::vector<TaskId>(problem_.tasks.size())};
    std::iota(as_given.id.begin(), as_given.id.end(), 0);
    best_roles_ = as_given;
    best_ = plan;
    if (has_plan(plan)) exchange_updates();
    if (!trials_are_over()) try_choices(as_given);
    return is_better(best_, plan) ? finished(plan) : plan;
  }

 private:
  // Then the answer depends on rounds alone, as long as the limit is not reached.
  bool counted() const { return options_.effort >= 0; }
  double left() const { return options_.time_limit - clock_.elapsed(); }
  bool trials_are_over() const {
    return stopped_ || left() < (counted() ? 0 : 1 - kList - kTrials) * options_.time_limit;
  }

  void try_choices(const Roles& as_given) {
    std::vector<Roles> choices = {
        choose(as_given, [](const Task& t) { return t.seconds; }),
        choose(as_given, [&](const Task& t) { return static_cast<double>(needs(t)); })};
    for (std::size_t i = 0; i < std::min(all_.size(), kMostSingles) && !trials_are_over(); ++i) {
      if (auto single = take(given_, as_given, all_[i], options_.reorder))
        choices.push_back(std::move(*single));
    }
    const double share = kTrials / 2 / static_cast<double>(choices.size());
    for (const Roles& roles : choices) attempt(roles, share, false);
    // Two that help may help together.
    const bool helped = best_roles_.listed() != as_given.listed();
    for (std::size_t i = 0; helped && i < std::min(all_.size(), kMostSingles) && !trials_are_over(); ++i) {
      if (const auto more = take(given_, best_roles_, all_[i], options_.reorder))
        attempt(*more, share, false);
    }
    if (has_plan(best_) ? best_roles_.listed() != as_given.listed() : below_)
      attempt(has_plan(best_) ? Roles(best_roles_) : choices[1], 1 - kList - kTrials, true);
  }

  // A stand-in that is faster and wants nothing more takes its place in the plan as it is.
  void exchange_updates() {
    std::vector<TaskId> better(problem_.tasks.size(), -1);
    const auto wants_no_more = [&](const Task& a, const Task& than) {
      const std::set<BufferId> reads(than.reads.begin(), than.reads.end());
      return a.workspace <= than.workspace && a.writes == than.writes && a.in_place == than.in_place &&
             a.lossy == than.lossy &&
             std::all_of(a.reads.begin(), a.reads.end(), [&](BufferId b) { return reads.contains(b); });
    };
    for (const TaskId t : all_) {
      const Task& other = problem_.tasks[at(t)];
      TaskId& now = better[at(other.instead_of)];
      const Task& than = problem_.tasks[at(now < 0 ? other.instead_of : now)];
      if (other.seconds < than.seconds && wants_no_more(other, problem_.tasks[at(other.instead_of)])) now = t;
    }
    Plan plan = best_;
    for (Step& s : plan.steps) {
      if (s.kind == Step::Kind::run && better[at(s.id)] >= 0) s.id = better[at(s.id)];
    }
    const auto workspace = [&](const Placement& p) {
      return round_up(problem_.tasks[at(plan.steps[at(p.step)].id)].workspace, problem_.align);
    };
    std::erase_if(plan.placements,
                  [&](const Placement& p) { return p.buffer == Placement::kWorkspace && workspace(p) == 0; });
    plan.arena_bytes = 0;
    for (const Placement& p : plan.placements)
      plan.arena_bytes =
          std::max(plan.arena_bytes,
                   p.offset + (p.buffer == Placement::kWorkspace ? workspace(p) : problem_.size(p.buffer)));
    const Replay now = replay(problem_, plan);
    if (!now.broken.empty() || now.seconds >= plan.seconds) return;
    plan.seconds = now.seconds;
    plan.live_peak = now.live_peak;
    plan.peak = plan.has_arena ? resident_bytes(problem_) + plan.arena_bytes : now.live_peak;
    plan.lossy = now.lossy;
    best_ = std::move(plan);
  }

  Bytes needs(const Task& t) const {
    Bytes bytes = round_up(t.workspace, problem_.align);
    for (const auto* list : {&t.reads, &t.writes}) {
      for (const BufferId b : *list) bytes += problem_.buffers[at(b)].resident ? 0 : problem_.size(b);
    }
    return bytes;
  }

  // Of each update, the way that costs least by this measure. All at once, else as many as there is time to look at.
  template <typename Cost>
  Roles choose(const Roles& as_given, const Cost& cost) const {
    std::map<TaskId, TaskId> chosen;  // by what it stands in for
    for (const TaskId t : all_) {
      const Task& other = problem_.tasks[at(t)];
      const TaskId now = chosen.try_emplace(other.instead_of, other.instead_of).first->second;
      if (cost(other) < cost(problem_.tasks[at(now)])) chosen[other.instead_of] = t;
    }
    std::erase_if(chosen, [](const auto& c) { return c.first == c.second; });
    Roles roles = as_given;
    for (const auto& [of, t] : chosen) put_there(roles, at(t));
    if (is_same(given_, roles)) return roles;
    roles = as_given;
    std::size_t looked_at = 0;
    for (const auto& [of, t] : chosen) {
      if (++looked_at > kMostOneByOne || trials_are_over()) break;
      if (auto better = take(given_, roles, t, options_.reorder)) roles = std::move(*better);
    }
    return roles;
  }

  void attempt(const Roles& roles, double share, bool thorough) {
    if (stopped_ || left() <= kLeastBound * options_.time_limit) return;
    if (!thorough &&
        (trials_are_over() || std::find(tried_.begin(), tried_.end(), roles.listed()) != tried_.end()))
      return;
    tried_.push_back(roles.listed());
    Options o = options_;
    o.time_limit = counted() ? left() : std::min(share * options_.time_limit, left());
    if (!thorough && o.effort > 1) o.effort = std::max<std::int64_t>(1, o.effort / 4);
    o.bounds = false;
    o.warm_start = nullptr;
    Plan plan = search_(roles.problem, o, thorough && below_);
    for (Step& s : plan.steps) {
      if (s.kind == Step::Kind::run) s.id = roles.id[at(s.id)];
    }
    if (!is_better(plan, best_)) return;
    best_ = std::move(plan);
    best_roles_ = roles;
  }

  // `first`: what the list as given came to, with its bound.
  Plan finished(const Plan& first) {
    best_.status = Plan::Status::feasible;
    best_.problem_hash = hash(problem_);
    best_.seconds_bound = first.seconds_bound;
    best_.peak_bound = first.peak_bound;
    best_.proof = first.proof;
    if (options_.bounds && !best_.seconds_bound) {
      BoundResult r = bound(problem_, {.budget = options_.budget,
                                       .time_limit = std::max(kLeastBound * options_.time_limit, left()),
                                       .effort = counted() ? kCountedCuts : BoundOptions{}.effort,
                                       .known_seconds = best_.seconds,
                                       .go_on = [&] {
                                         return options_.progress({.seconds_elapsed = clock_.seen(),
                                                                   .best_seconds = best_.seconds,
                                                                   .phase = "bound"});
                                       }});
      best_.seconds_bound = r.seconds;
      best_.proof = std::move(r.proof);
    }
    if (best_.seconds_bound) {
      best_.seconds_bound = std::min(*best_.seconds_bound, best_.seconds);
      if (best_.seconds <= *best_.seconds_bound * (1 + 1e-9)) best_.status = Plan::Status::optimal;
    }
    best_.solve_seconds = clock_.elapsed();
    const std::string broken = check(problem_, best_);
    TIDEMARK_CHECK(broken.empty(), "[solve] the plan with other updates does not check: {}", broken);
    return std::move(best_);
  }

  const Problem& problem_;
  Options options_;
  const bool below_;
  const SearchList& search_;
  const Touches given_;
  Limit clock_{0, -1};
  std::function<bool(const Progress&)> ask_;
  bool stopped_ = false;
  std::vector<TaskId> all_;
  std::vector<std::vector<TaskId>> tried_;
  Plan best_;
  Roles best_roles_;
};

}  // namespace

bool has_stand_ins(const Problem& problem) {
  return std::any_of(problem.tasks.begin(), problem.tasks.end(), is_stand_in);
}

Plan solve_with_stand_ins(const Problem& problem, const Options& options, bool below,
                          const SearchList& search) {
  return StandIns(problem, options, below, search).run();
}

}  // namespace tidemark::plan
