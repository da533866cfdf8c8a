// The checker's machine: buffers, copies and streams as docs/format.md describes them, a step at a time. Near
// linear in the steps; shares nothing with any planner.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "tidemark/plan/plan.h"
#include "tidemark/plan/replay_arena.h"
#include "tidemark/plan/versions.h"

namespace tidemark::plan {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

class Machine {
 public:
  Machine(const Problem& problem, const Plan& plan)
      : p_(problem),
        plan_(plan),
        versions_(problem),
        buffers_(problem.buffers.size()),
        tiers_(problem.tiers.size()),
        runs_(problem.tasks.size(), 0) {
    if (plan.has_arena) arena_.emplace(problem, plan);
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      const Buffer& buffer = p_.buffers[b];
      if (buffer.resident) {
        buffers_[b].live = true;
        live_ += size(b);
      }
      if (buffer.start >= 0) {
        buffers_[b].valid_in = bit(buffer.start);
        buffers_[b].held_in = bit(buffer.start);
        tiers_[at(buffer.start)].bytes += size(b);
      }
    }
    result_.live_peak = live_;
  }

  Replay run() {
    for (std::size_t i = 0; i < plan_.steps.size() && result_.broken.empty(); ++i) {
      step_ = static_cast<std::int32_t>(i);
      const Step& step = plan_.steps[i];
      std::string broken = arena_ ? arena_->begin_step(step_) : "";
      if (broken.empty()) broken = carry_out(step);
      if (broken.empty() && arena_) broken = arena_->end_step();
      if (!broken.empty()) result_.broken = fmt::format("{}: {}", describe(step), broken);
    }
    if (result_.broken.empty()) result_.broken = end();
    result_.seconds = now_;
    return std::move(result_);
  }

 private:
  struct State {
    bool live = false;
    enum class Copy : std::uint8_t { none, out, in } copy = Copy::none;
    TierId copy_tier = -1;
    double copy_done = 0;
    std::uint64_t held_in = 0,
                  valid_in = 0;  // a bit for each tier: has bytes there; and they are of the current version
  };
  struct TierState {
    Bytes bytes = 0;
    double out_free = 0, in_free = 0;  // when each stream has done what it was given
  };

  static std::uint64_t bit(TierId tier) { return std::uint64_t{1} << tier; }
  Bytes size(std::size_t b) const { return p_.size(static_cast<BufferId>(b)); }
  std::string name(BufferId b) const { return fmt::format("{} '{}'", b, p_.buffers[at(b)].name); }
  void count(Bytes extra) {
    if (live_ + extra <= result_.live_peak) return;
    result_.live_peak = live_ + extra;
    result_.peak_step = step_;
  }

  std::string describe(const Step& step) const {
    const bool run = step.kind == Step::Kind::run;
    const std::size_t count = run ? p_.tasks.size() : p_.buffers.size();
    const bool known = step.id >= 0 && at(step.id) < count;
    const std::string& name = !known ? std::string()
                              : run  ? p_.tasks[at(step.id)].name
                                     : p_.buffers[at(step.id)].name;
    return fmt::format("step {} ({} {} '{}')", step_, name_of(step.kind), step.id, name);
  }

  std::string carry_out(const Step& step) {
    const bool run = step.kind == Step::Kind::run;
    if (step.id < 0 || at(step.id) >= (run ? p_.tasks.size() : p_.buffers.size()))
      return "ids are places in the list";
    const bool with_tier =
        step.kind == Step::Kind::evict || step.kind == Step::Kind::fetch || step.kind == Step::Kind::discard;
    if (with_tier && (step.tier < 0 || at(step.tier) >= p_.tiers.size()))
      return "tiers are those of the problem";
    if (!run && !step.in_place.empty()) return "only a run has in_place pairs";
    switch (step.kind) {
      case Step::Kind::run:
        return run_task(step);
      case Step::Kind::drop:
        return drop(step.id);
      case Step::Kind::evict:
        return evict(step.id, step.tier);
      case Step::Kind::fetch:
        return fetch(step.id, step.tier);
      case Step::Kind::wait:
        return wait(step.id);
      case Step::Kind::discard:
        return discard(step.id, step.tier);
    }
    return "steps are run, drop, evict, fetch, wait, discard";
  }

  std::string run_task(const Step& step) {
    const Task& task = p_.tasks[at(step.id)];
    const TaskId group = task.instead_of >= 0 ? task.instead_of : step.id;
    if (task.once && runs_[at(step.id)] > 0) return "a task that is once runs exactly once";
    if (p_.tasks[at(group)].once && once_done(group))
      return fmt::format("task {} is once, and it or one instead of it has run", group);
    for (const BufferId b : task.reads) {
      if (!buffers_[at(b)].live) return fmt::format("a task reads a buffer that is not live: {}", name(b));
      if (buffers_[at(b)].copy == State::Copy::in)
        return fmt::format("a fetched buffer is readable after wait: {}", name(b));
    }
    if (std::string broken = versions_.run(step.id, p_); !broken.empty()) return broken;
    for (const BufferId b : task.writes) {
      if (buffers_[at(b)].copy != State::Copy::none)
        return fmt::format("no run writes a buffer whose copy is under way: {}", name(b));
    }
    if (std::string broken = take_over(step, task); !broken.empty()) return broken;
    for (const BufferId b : task.writes) {
      if (buffers_[at(b)].live) continue;
      buffers_[at(b)].live = true;
      live_ += size(at(b));
      if (!arena_) continue;
      if (std::string broken = arena_->create(b, size(at(b))); !broken.empty()) return broken;
    }
    const Bytes workspace = round_up(task.workspace, p_.align);
    count(workspace);
    if (arena_ && workspace > 0) {
      if (std::string broken = arena_->create(Placement::kWorkspace, workspace); !broken.empty())
        return broken;
      arena_->remove(Placement::kWorkspace);
    }
    for (const auto& [read, write] : step.in_place) {
      live_ -= size(at(read)) - size(at(write));
      if (arena_) arena_->shrink(write, size(at(write)));
    }
    // A new version makes every copy of the old one stale; its bytes stay until discarded.
    for (const BufferId b : versions_.updates(step.id)) buffers_[at(b)].valid_in = 0;
    ++runs_[at(step.id)];
    if (task.instead_of >= 0) ++runs_instead_[task.instead_of];
    result_.lossy = result_.lossy || task.lossy;
    now_ += task.seconds;
    return {};
  }

  bool once_done(TaskId group) const {
    const auto instead = runs_instead_.find(group);
    return runs_[at(group)] > 0 || (instead != runs_instead_.end() && instead->second > 0);
  }

  // The pairs that the run uses: each read's storage becomes its write's, at the read's size until the run
  // ends.
  std::string take_over(const Step& step, const Task& task) {
    if (step.in_place.empty()) return {};
    // Sorted, so that a long list costs no square.
    auto offered = task.in_place;
    auto reads = task.reads, writes = task.writes;
    std::sort(offered.begin(), offered.end());
    std::sort(reads.begin(), reads.end());
    std::sort(writes.begin(), writes.end());
    const auto is_written = [&](BufferId b) { return std::binary_search(writes.begin(), writes.end(), b); };
    for (const auto& pair : step.in_place) {
      const auto [read, write] = pair;
      if (!std::binary_search(offered.begin(), offered.end(), pair)) {
        return fmt::format("in_place: only the pairs of the task, not [{}, {}]", read, write);
      }
      if (p_.buffers[at(read)].resident)
        return fmt::format("in_place: never over a resident buffer: {}", name(read));
      const auto [first, last] = std::equal_range(reads.begin(), reads.end(), read);
      if (last - first != 1)
        return fmt::format("in_place: {} is read through {} arguments, not one", name(read), last - first);
      // All reads were live when the run began.
      if (!buffers_[at(read)].live)
        return fmt::format("in_place: a storage is taken over by one write: {}", name(read));
      if (!is_written(write)) return fmt::format("in_place: the task does not write {}", name(write));
      if (is_written(read)) return fmt::format("in_place: the task writes {} itself", name(read));
      if (buffers_[at(write)].live)
        return fmt::format("in_place: write was not live before: {}", name(write));
      if (size(at(write)) > size(at(read)))
        return fmt::format("in_place: write is not larger: {} over {}", name(write), name(read));
      if (buffers_[at(read)].copy != State::Copy::none)
        return fmt::format("in_place: never over one being copied: {}", name(read));
      buffers_[at(read)].live = false;
      buffers_[at(write)].live = true;
      if (!arena_) continue;
      if (std::string broken = arena_->take_over(read, write); !broken.empty()) return broken;
    }
    return {};
  }

  std::string drop(BufferId b) {
    if (p_.buffers[at(b)].resident) return "a resident buffer is never dropped";
    if (!buffers_[at(b)].live) return "drop needs a live buffer";
    if (buffers_[at(b)].copy != State::Copy::none) return "nothing drops a buffer whose copy is under way";
    end_life(b);
    return {};
  }

  void end_life(BufferId b) {
    buffers_[at(b)].live = false;
    live_ -= size(at(b));
    if (arena_) arena_->remove(b);
  }

  std::string evict(BufferId b, TierId tier) {
    State& state = buffers_[at(b)];
    if (p_.buffers[at(b)].resident) return "a resident buffer is never moved";
    if (!state.live) return "evict needs a live buffer";
    if (state.copy != State::Copy::none) return "a copy of the buffer is under way already";
    TierState& t = tiers_[at(tier)];
    // The copy overwrites an older one of the same buffer, whose bytes count already.
    if ((state.held_in & bit(tier)) == 0) t.bytes += size(at(b));
    state.held_in |= bit(tier);
    state.valid_in &= ~bit(tier);
    if (t.bytes > p_.tiers[at(tier)].bytes) {
      return fmt::format("tier bytes <= capacity: {} in {} with {}", t.bytes, p_.tiers[at(tier)].name,
                         p_.tiers[at(tier)].bytes);
    }
    start_copy(b, tier, State::Copy::out, t.out_free, p_.tiers[at(tier)].write_bytes_per_second);
    return {};
  }

  std::string fetch(BufferId b, TierId tier) {
    State& state = buffers_[at(b)];
    if (p_.buffers[at(b)].resident) return "a resident buffer is never moved";
    if (state.live) return "fetch needs a buffer that is not live";
    if ((state.valid_in & bit(tier)) == 0) {
      return (state.held_in & bit(tier)) != 0
                 ? "fetch needs a valid copy, the one there is of an older version"
                 : "fetch needs a valid copy";
    }
    state.live = true;
    live_ += size(at(b));
    count(0);
    if (arena_) {
      if (std::string broken = arena_->create(b, size(at(b))); !broken.empty()) return broken;
    }
    start_copy(b, tier, State::Copy::in, tiers_[at(tier)].in_free, p_.tiers[at(tier)].read_bytes_per_second);
    return {};
  }

  void start_copy(BufferId b, TierId tier, State::Copy direction, double& stream_free, double rate) {
    State& state = buffers_[at(b)];
    state.copy = direction;
    state.copy_tier = tier;
    state.copy_done = std::max(now_, stream_free) + p_.tiers[at(tier)].latency_seconds +
                      static_cast<double>(size(at(b))) / rate;
    stream_free = state.copy_done;
    ++copies_under_way_;
  }

  std::string wait(BufferId b) {
    State& state = buffers_[at(b)];
    if (state.copy == State::Copy::none) return "wait needs a copy under way";
    now_ = std::max(now_, state.copy_done);
    if (state.copy == State::Copy::out) {
      state.valid_in |= bit(state.copy_tier);
      end_life(b);
    }
    state.copy = State::Copy::none;
    --copies_under_way_;
    return {};
  }

  std::string discard(BufferId b, TierId tier) {
    State& state = buffers_[at(b)];
    if ((state.held_in & bit(tier)) == 0) return "discard needs a copy in the tier";
    if (state.copy != State::Copy::none && state.copy_tier == tier)
      return "nothing discards a copy that is under way";
    state.held_in &= ~bit(tier);
    state.valid_in &= ~bit(tier);
    tiers_[at(tier)].bytes -= size(at(b));
    return {};
  }

  std::string end() const {
    if (copies_under_way_ > 0) {
      for (std::size_t b = 0; b < buffers_.size(); ++b) {
        if (buffers_[b].copy != State::Copy::none)
          return fmt::format("end: every copy is waited for, {} is not", name(static_cast<BufferId>(b)));
      }
    }
    for (std::size_t t = 0; t < p_.tasks.size(); ++t) {
      if (p_.tasks[t].optional || runs_[t] > 0 || runs_instead_.contains(static_cast<TaskId>(t))) continue;
      return fmt::format(
          "end: a task that is not optional, or one instead of it, runs at least once, {} '{}' does not", t,
          p_.tasks[t].name);
    }
    for (const BufferId b : p_.outputs) {
      if (!buffers_[at(b)].live) return fmt::format("end: outputs are live at the end, {} is not", name(b));
    }
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      const TierId tier = p_.buffers[b].end;
      if (tier >= 0 && (buffers_[b].valid_in & bit(tier)) == 0) {
        return fmt::format("end: the last version of {} has a valid copy in {}, it has none",
                           name(static_cast<BufferId>(b)), p_.tiers[at(tier)].name);
      }
    }
    if (arena_) {
      if (std::string broken = arena_->finish(); !broken.empty()) return "end: " + broken;
    }
    return {};
  }

  const Problem& p_;
  const Plan& plan_;
  Versions versions_;
  std::optional<ReplayArena> arena_;
  std::vector<State> buffers_;
  std::vector<TierState> tiers_;
  std::vector<std::int32_t> runs_;
  std::map<TaskId, std::int32_t> runs_instead_;  // by the task that another stood in for
  Bytes live_ = 0;
  double now_ = 0;
  std::int32_t step_ = 0;
  std::int64_t copies_under_way_ = 0;
  Replay result_;
};

}  // namespace

Replay replay(const Problem& problem, const Plan& plan) {
  Replay refused;
  refused.broken = verify(problem);
  if (!refused.broken.empty()) {
    refused.broken = "problem: " + refused.broken;
    return refused;
  }
  if (plan.steps.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    refused.broken = "more steps than 2^31 - 1";
    return refused;
  }
  return Machine(problem, plan).run();
}

}  // namespace tidemark::plan
