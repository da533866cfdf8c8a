// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/stand_ins.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <span>

#include "tidemark/base/error.h"
#include "tidemark/plan/bound.h"
#include "tidemark/plan/cpu_clock.h"

namespace tidemark::plan {
namespace {

constexpr std::size_t kMostSingles = 8;  // stand-ins that are tried one by one
constexpr std::size_t kMostOneByOne = 64;
constexpr double kList = 0.5;     // of the time, for the list as it is
constexpr double kTrials = 0.25;  // for all choices; the rest is for the best of them
constexpr double kLeastBound = 0.05;

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

bool is_update(const Task& t) {
  return std::any_of(t.writes.begin(), t.writes.end(), [&](BufferId b) {
    return std::find(t.reads.begin(), t.reads.end(), b) != t.reads.end();
  });
}
bool is_stand_in(const Task& t) { return t.optional && is_update(t); }

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

using Touched = std::vector<std::pair<BufferId, std::int32_t>>;
Touched versions_of(const Values& v, std::span<const ValueId> values) {
  Touched list;
  for (const ValueId x : values) list.emplace_back(v.buffer[at(x)], v.version[at(x)]);
  std::sort(list.begin(), list.end());
  return list;
}

// Every task that may run reads and makes the versions that it does in the problem as given.
bool is_same(const Values& given, const Roles& roles) {
  if (!verify(roles.problem).empty()) return false;
  const Values now(roles.problem);
  for (TaskId t = 0; t < now.tasks(); ++t) {
    if (is_stand_in(roles.problem.tasks[at(t)])) continue;  // the search does not run these
    const TaskId was = roles.id[at(t)];
    if (versions_of(now, now.reads[t]) != versions_of(given, given.reads[was]) ||
        versions_of(now, now.writes[t]) != versions_of(given, given.writes[was]))
      return false;
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

// With stand-in `task` of the problem as given.
std::optional<Roles> take(const Values& given, const Roles& from, TaskId task) {
  const auto o = at(static_cast<TaskId>(std::find(from.id.begin(), from.id.end(), task) - from.id.begin()));
  if (!from.problem.tasks[o].optional) return {};
  for (const auto put : {put_there, put_here}) {
    Roles roles = from;
    put(roles, o);
    if (is_same(given, roles)) return roles;
  }
  return {};
}

bool has_plan(const Plan& p) {
  return p.status == Plan::Status::feasible || p.status == Plan::Status::optimal;
}
bool is_better(const Plan& a, const Plan& b) {
  return has_plan(a) && (!has_plan(b) || a.seconds < b.seconds);
}

class StandIns {
 public:
  StandIns(const Problem& problem, const Options& options, bool below, const SearchList& search)
      : problem_(problem), options_(options), below_(below), search_(search), given_(problem) {
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
    list.time_limit = kList * options_.time_limit;
    Plan plan = search_(problem_, list, below_);
    const bool impossible = plan.peak_bound && options_.budget >= 0 && *plan.peak_bound > options_.budget;
    if (plan.status == Plan::Status::optimal || impossible || stopped_) return plan;
    Roles as_given{problem_, std::vector<TaskId>(problem_.tasks.size())};
    std::iota(as_given.id.begin(), as_given.id.end(), 0);
    best_roles_ = as_given;
    best_ = plan;
    std::vector<Roles> choices = {
        choose(as_given, [](const Task& t) { return t.seconds; }),
        choose(as_given, [&](const Task& t) { return static_cast<double>(needs(t)); })};
    for (std::size_t i = 0; i < std::min(all_.size(), kMostSingles); ++i) {
      if (auto single = take(given_, as_given, all_[i])) choices.push_back(std::move(*single));
    }
    const double share = kTrials / 2 / static_cast<double>(choices.size());
    for (const Roles& roles : choices) attempt(roles, share, false);
    // Two that help may help together.
    for (std::size_t i = 0;
         i < std::min(all_.size(), kMostSingles) && best_roles_.listed() != as_given.listed(); ++i) {
      if (const auto more = take(given_, best_roles_, all_[i])) attempt(*more, share, false);
    }
    if (has_plan(best_) ? best_roles_.listed() == as_given.listed() : !below_) return plan;
    attempt(has_plan(best_) ? Roles(best_roles_) : choices[1], 1 - kList - kTrials, true);
    return is_better(best_, plan) ? finished(plan) : plan;
  }

 private:
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
      if (++looked_at > kMostOneByOne) break;
      if (auto better = take(given_, roles, t)) roles = std::move(*better);
    }
    return roles;
  }

  void attempt(const Roles& roles, double share, bool thorough) {
    if (stopped_ || (!thorough && std::find(tried_.begin(), tried_.end(), roles.listed()) != tried_.end()))
      return;
    tried_.push_back(roles.listed());
    Options o = options_;
    o.time_limit = share * options_.time_limit;
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
      const double left = options_.time_limit - clock_.elapsed();
      BoundResult r = bound(given_, {.budget = options_.budget,
                                     .time_limit = std::max(kLeastBound * options_.time_limit, left),
                                     .known_seconds = best_.seconds});
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
  const Values given_;
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
