// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/finish.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "tidemark/base/error.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/pack.h"

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// Walks the runs with, for each buffer, where it is touched next.
class Builder {
 public:
  Builder(const Problem& problem, std::vector<Step> runs)
      : p_(problem),
        runs_(std::move(runs)),
        live_(problem.buffers.size(), false),
        updated_(problem.buffers.size(), false),
        ended_(problem.buffers.size(), false),
        discarded_(problem.buffers.size(), false),
        read_by_(problem.buffers.size(), -1) {
    in_tier_.assign(p_.tiers.size(), 0);
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      if (p_.buffers[b].start >= 0) in_tier_[at(p_.buffers[b].start)] += size(b);
      if (!p_.buffers[b].resident) continue;
      live_[b] = true;
      now_ += size(b);
    }
    plan_.live_peak = now_;
    is_output_.assign(p_.buffers.size(), false);
    for (const BufferId b : p_.outputs) is_output_[at(b)] = true;
    find_next_touches();
  }

  Plan build() {
    discard_unread();
    std::size_t touch = 0;
    for (Step& run : runs_) {
      const Task& task = p_.tasks[at(run.id)];
      const std::size_t touches = task.reads.size() + task.writes.size();
      for (const BufferId b : task.reads) bring(b);
      start_run(run, task);
      for (std::size_t i = 0; i < touches; ++i) end_touch(touched(task, i), next_[touch + i]);
      touch += touches;
    }
    // What no run touches may still have to change its tier.
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      if (p_.buffers[b].start < 0 || ended_[b] || !needs_move(b)) continue;
      bring(static_cast<BufferId>(b));
      end_touch(static_cast<BufferId>(b), Next::none);
    }
    return std::move(plan_);
  }

 private:
  enum class Next : std::uint8_t { read, made, none };

  Bytes size(std::size_t b) const { return p_.size(static_cast<BufferId>(b)); }
  static BufferId touched(const Task& task, std::size_t i) {
    return i < task.reads.size() ? task.reads[i] : task.writes[i - task.reads.size()];
  }

  // For each run's reads and then writes: what happens to the buffer next. Backwards, with one state for each
  // buffer.
  void find_next_touches() {
    std::size_t total = 0;
    for (const Step& run : runs_)
      total += p_.tasks[at(run.id)].reads.size() + p_.tasks[at(run.id)].writes.size();
    next_.assign(total, Next::none);
    std::vector<Next> state(p_.buffers.size(), Next::none);
    std::size_t position = total;
    for (std::size_t r = runs_.size(); r-- > 0;) {
      const Task& task = p_.tasks[at(runs_[r].id)];
      const std::size_t touches = task.reads.size() + task.writes.size();
      position -= touches;
      for (std::size_t i = 0; i < touches; ++i) next_[position + i] = state[at(touched(task, i))];
      for (const BufferId b : task.writes) state[at(b)] = Next::made;
      for (const BufferId b : task.reads) state[at(b)] = Next::read;
    }
  }

  void count(Bytes extra) { plan_.live_peak = std::max(plan_.live_peak, now_ + extra); }
  void add(Step::Kind kind, BufferId b, TierId tier = -1) { plan_.steps.push_back({kind, b, tier, {}}); }
  bool needs_move(std::size_t b) const {
    return is_output_[b] || (p_.buffers[b].end >= 0 && p_.buffers[b].end != p_.buffers[b].start);
  }

  void copy(Step::Kind kind, BufferId b, TierId tier) {
    const Tier& t = p_.tiers[at(tier)];
    add(kind, b, tier);
    add(Step::Kind::wait, b);
    const double rate = kind == Step::Kind::evict ? t.write_bytes_per_second : t.read_bytes_per_second;
    // Waited for at once, so the stream is free and the compute stream stands still.
    plan_.seconds += t.latency_seconds + static_cast<double>(size(at(b))) / rate;
  }

  void discard(BufferId b) {
    if (discarded_[at(b)]) return;
    discarded_[at(b)] = true;
    add(Step::Kind::discard, b, p_.buffers[at(b)].start);
    in_tier_[at(p_.buffers[at(b)].start)] -= size(at(b));
  }

  // What a tier has from the start and no run reads leaves its room to others at once.
  void discard_unread() {
    std::vector<bool> read(p_.buffers.size(), false), made(p_.buffers.size(), false);
    for (const Step& run : runs_) {
      for (const BufferId b : p_.tasks[at(run.id)].reads) read[at(b)] = true;
      for (const BufferId b : p_.tasks[at(run.id)].writes) made[at(b)] = true;
    }
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      const Buffer& buffer = p_.buffers[b];
      if (buffer.start < 0 || buffer.end == buffer.start || read[b] || (needs_move(b) && !made[b])) continue;
      discard(static_cast<BufferId>(b));
    }
  }

  void bring(BufferId b) {
    if (live_[at(b)] || p_.buffers[at(b)].start < 0) return;
    copy(Step::Kind::fetch, b, p_.buffers[at(b)].start);
    live_[at(b)] = true;
    now_ += size(at(b));
    count(0);
  }

  void start_run(Step& run, const Task& task) {
    Bytes freed = 0;
    for (const auto& [read, write] : run.in_place) {
      live_[at(read)] = false;
      live_[at(write)] = true;
      freed += size(at(read)) - size(at(write));
    }
    const auto step = static_cast<std::int32_t>(plan_.steps.size());
    for (const BufferId b : task.reads) read_by_[at(b)] = step;
    for (const BufferId b : task.writes) {
      if (!live_[at(b)]) now_ += size(at(b));
      live_[at(b)] = true;
      // An update leaves the copy in the tier behind; a maker does not.
      if (read_by_[at(b)] == step) updated_[at(b)] = true;
    }
    count(round_up(task.workspace, p_.align));
    now_ -= freed;
    plan_.seconds += task.seconds;
    plan_.lossy = plan_.lossy || task.lossy;
    plan_.steps.push_back(std::move(run));
  }

  void end_touch(BufferId b, Next next) {
    const Buffer& buffer = p_.buffers[at(b)];
    if (!live_[at(b)] || buffer.resident || next == Next::read) return;
    if (next == Next::none) {
      if (ended_[at(b)]) return;
      ended_[at(b)] = true;
      const bool there = buffer.end >= 0 && buffer.end == buffer.start && !updated_[at(b)];
      if (buffer.start >= 0 && buffer.end != buffer.start) discard(b);
      if (buffer.end >= 0 && !there) {
        if (buffer.end != buffer.start) in_tier_[at(buffer.end)] += size(at(b));
        if (in_tier_[at(buffer.end)] > p_.tiers[at(buffer.end)].bytes && plan_.reason.empty()) {
          plan_.reason =
              fmt::format("what ends in {} does not fit beside what is there", p_.tiers[at(buffer.end)].name);
        }
        copy(Step::Kind::evict, b, buffer.end);
        if (is_output_[at(b)]) {
          copy(Step::Kind::fetch, b, buffer.end);
          return;
        }
        end_life(b);
        return;
      }
      if (is_output_[at(b)]) return;
    }
    add(Step::Kind::drop, b);
    end_life(b);
  }

  void end_life(BufferId b) {
    live_[at(b)] = false;
    now_ -= size(at(b));
  }

  const Problem& p_;
  std::vector<Step> runs_;
  std::vector<Next> next_;  // in the order of the runs' reads and writes
  std::vector<bool> live_, is_output_;
  std::vector<bool> updated_;    // what `start` left in the tier is an older version
  std::vector<bool> ended_;      // has had its last use
  std::vector<bool> discarded_;  // from the tier in which it starts
  std::vector<std::int32_t> read_by_;
  std::vector<Bytes> in_tier_;
  Bytes now_ = 0;
  Plan plan_;  // with a reason where a tier overflows
};

}  // namespace

bool no_run_helps(const Problem& problem) {
  if (problem.tasks.empty()) return true;
  // What has to leave the tier in which it begins may be made faster than it is copied.
  const auto moves = [&](const Buffer& b) { return b.end >= 0 && b.end != b.start; };
  const auto is_there = [&](BufferId b) { return problem.buffers[at(b)].resident; };
  return std::all_of(problem.tasks.begin(), problem.tasks.end(), [](const Task& t) { return t.optional; }) &&
         std::none_of(problem.buffers.begin(), problem.buffers.end(), moves) &&
         std::all_of(problem.outputs.begin(), problem.outputs.end(), is_there);
}

Plan with_drops(const Problem& problem, std::vector<Step> runs) {
  for (const Step& run : runs) TIDEMARK_CHECK(run.kind == Step::Kind::run, "[finish] a step that is no run");
  Plan plan = Builder(problem, std::move(runs)).build();
  plan.problem = problem.name;
  plan.peak = plan.live_peak;
  return plan;
}

std::vector<Interval> lives_of(const Problem& problem, Plan& plan) {
  std::vector<Interval> intervals;
  std::vector<std::int32_t> open(problem.buffers.size(), -1);  // the interval in which a live buffer stands
  std::vector<bool> leaving(problem.buffers.size(), false);    // an evict is under way
  plan.placements.clear();
  const auto begin = [&](BufferId b, std::size_t step, Bytes bytes, std::int32_t follows = -1) {
    const auto last = static_cast<std::int64_t>(b == Placement::kWorkspace ? step + 1 : plan.steps.size());
    intervals.push_back({static_cast<std::int64_t>(step), last, bytes, follows});
    plan.placements.push_back({static_cast<std::int32_t>(step), b, 0});
    if (b >= 0) open[at(b)] = static_cast<std::int32_t>(intervals.size() - 1);
  };
  const auto end = [&](BufferId b, std::size_t moment) {
    intervals[at(open[at(b)])].end = static_cast<std::int64_t>(moment);
    open[at(b)] = -1;
  };
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    switch (step.kind) {
      case Step::Kind::run: {
        for (const auto& [read, write] : step.in_place) {
          const std::int32_t followed = open[at(read)];
          end(read, s + 1);
          begin(write, s, problem.size(write), followed);
        }
        const Task& task = problem.tasks[at(step.id)];
        for (const BufferId b : task.writes) {
          if (open[at(b)] < 0 && !problem.buffers[at(b)].resident) begin(b, s, problem.size(b));
        }
        if (const Bytes workspace = round_up(task.workspace, problem.align); workspace > 0)
          begin(Placement::kWorkspace, s, workspace);
        break;
      }
      case Step::Kind::drop:
        end(step.id, s);
        break;
      case Step::Kind::evict:
        leaving[at(step.id)] = true;
        break;
      case Step::Kind::fetch:
        begin(step.id, s, problem.size(step.id));
        break;
      case Step::Kind::wait:
        if (leaving[at(step.id)]) end(step.id, s);
        leaving[at(step.id)] = false;
        break;
      case Step::Kind::discard:
        break;
    }
  }
  return intervals;
}

void take_places(const Problem& problem, Plan& plan, const Packing& packing) {
  for (std::size_t i = 0; i < packing.offsets.size(); ++i) plan.placements[i].offset = packing.offsets[i];
  plan.has_arena = true;
  plan.arena_bytes = packing.bytes;
  plan.peak = resident_bytes(problem) + packing.bytes;
}

void place(const Problem& problem, Plan& plan, Bytes capacity, double time_limit, bool counted,
           const std::function<bool()>& go_on) {
  // Nodes of different kinds take different times, so that their number alone is no measure.
  constexpr std::int64_t kNodes = 200'000;
  constexpr double kCounted = 0.25;
  const std::vector<Interval> intervals = lives_of(problem, plan);
  const Limit limit(time_limit, -1);
  std::optional<WorkClock> clock;
  if (counted) clock.emplace(intervals.size());
  const auto ask = [&] { return (!counted || !limit.time_is_up()) && (!go_on || go_on()); };
  const Packing packing = pack(intervals, {.align = problem.align,
                                           .capacity = capacity,
                                           .aim = capacity >= 0,
                                           .time_limit = counted ? kCounted : time_limit,
                                           .effort = counted ? kNodes : -1,
                                           .go_on = ask});
  take_places(problem, plan, packing);
}

void place_at(const Problem& problem, Plan& plan,
              const std::function<Bytes(std::int32_t run, BufferId buffer)>& offset_of) {
  const std::vector<Interval> intervals = lives_of(problem, plan);
  plan.arena_bytes = 0;
  std::int32_t run = -1, step = -1;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    Placement& placement = plan.placements[i];
    for (; step < placement.step; ++step) run += plan.steps[at(step + 1)].kind == Step::Kind::run ? 1 : 0;
    placement.offset = offset_of(run, placement.buffer);
    plan.arena_bytes = std::max(plan.arena_bytes, placement.offset + intervals[i].bytes);
  }
  plan.has_arena = true;
  plan.peak = resident_bytes(problem) + plan.arena_bytes;
}

Plan finish(const Problem& problem, std::vector<Step> runs, const Options& options) {
  Plan plan = with_drops(problem, std::move(runs));
  plan.problem_hash = hash(problem);
  plan.budget = options.budget;
  // No budget would help, so it is not infeasible in the sense of the format: there is just no plan.
  if (!plan.reason.empty()) {
    return {.status = Plan::Status::timed_out,
            .problem = plan.problem,
            .problem_hash = plan.problem_hash,
            .budget = plan.budget,
            .reason = plan.reason};
  }
  if (options.offsets && (options.budget < 0 || plan.live_peak <= options.budget)) {
    std::function<bool()> go_on;
    if (options.progress) {
      go_on = [&, begin = seen_seconds()] {
        return options.progress(
            {.seconds_elapsed = seen_seconds() - begin, .best_seconds = plan.seconds, .phase = "offsets"});
      };
    }
    place(problem, plan, options.budget < 0 ? -1 : options.budget - resident_bytes(problem),
          options.time_limit, options.effort >= 0, go_on);
  }
  if (options.bounds) {
    plan.seconds_bound = floor_seconds(problem);
    if (plan.seconds - *plan.seconds_bound <= 1e-9 * plan.seconds) plan.status = Plan::Status::optimal;
  }
  if (options.budget >= 0 && plan.peak > options.budget) {
    const char* what = plan.has_arena ? "its arena" : "what is live";
    Plan answer{.status = Plan::Status::infeasible,
                .problem = plan.problem,
                .problem_hash = plan.problem_hash,
                .budget = plan.budget};
    answer.smallest_peak = plan.peak;
    answer.reason =
        fmt::format("this plan needs {} with {}, the budget is {}", format_bytes(plan.peak, plan.budget),
                    what, format_bytes(plan.budget, plan.peak));
    return answer;
  }
  const std::string broken = check(problem, plan);
  TIDEMARK_CHECK(broken.empty(), "[finish] {}", broken);
  return plan;
}

}  // namespace tidemark::plan
