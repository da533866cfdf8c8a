// A plan that runs values again, changed to use codecs instead: what is dear to run again is coded where it is made and decoded where it
// was run again; room for the codes comes from coding as much of what the plan keeps. A start for the search, which changes one thing
// at a time and does not find such exchanges.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/compile/makers.h"
#include "tidemark/plan/finish.h"

namespace tidemark {
namespace {

using plan::BufferId;
using plan::Step;
using plan::TaskId;

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }
bool contains(const std::vector<BufferId>& list, BufferId b) {
  return std::find(list.begin(), list.end(), b) != list.end();
}

class Substituting {
 public:
  Substituting(const plan::Problem& problem, std::span<const Maker* const> makers, const plan::Plan& plan)
      : problem_(problem),
        runs_(problem.tasks.size(), 0),
        maker_(problem.buffers.size(), -1),
        codec_(problem.buffers.size()) {
    for (const Step& s : plan.steps) {
      if (s.kind != Step::Kind::run) continue;
      steps_.push_back(s);
      ++runs_[at(s.id)];
    }
    for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
      if (problem.tasks[t].optional) continue;
      for (const BufferId b : problem.tasks[t].writes)
        maker_[at(b)] = maker_[at(b)] == -1 && !problem.tasks[t].once ? static_cast<TaskId>(t) : -2;
    }
    for (const Maker* m : makers) {
      if (is_codec(*m) && (codec_[at(m->buffer)] == nullptr || m->seconds < codec_[at(m->buffer)]->seconds))
        codec_[at(m->buffer)] = m;
    }
  }

  // What is run again at a cost far above its codec's, in the order of the list: what is made from a decoded value is cheap again.
  std::vector<const Maker*> instead_of_runs() const {
    constexpr double kFar = 0.5;
    std::vector<const Maker*> picked;
    std::vector<double> again(problem_.buffers.size(), 0);  // seconds to have it once more
    for (std::size_t t = 0; t < problem_.tasks.size(); ++t) {
      const plan::Task& task = problem_.tasks[t];
      if (task.optional || runs_[t] < 2) continue;
      double seconds = task.seconds;
      for (const BufferId b : task.reads) seconds += again[at(b)];
      double coding = 0;
      for (const BufferId b : task.writes) {
        again[at(b)] = seconds;
        if (can_be_coded(b)) coding += codec_[at(b)]->seconds;
      }
      if (coding > kFar * seconds) continue;
      for (const BufferId b : task.writes) {
        if (!can_be_coded(b)) continue;
        again[at(b)] = problem_.tasks[at(codec_[at(b)]->run.back())].seconds;
        picked.push_back(codec_[at(b)]);
      }
    }
    return picked;
  }
  // What is made once and waits, the cheapest to code for what that saves first.
  std::vector<const Maker*> kept() const {
    std::vector<const Maker*> found;
    for (std::size_t b = 0; b < codec_.size(); ++b) {
      if (can_be_coded(static_cast<BufferId>(b)) && runs_[at(maker_[b])] == 1) found.push_back(codec_[b]);
    }
    std::stable_sort(found.begin(), found.end(), [](const Maker* a, const Maker* b) {
      return a->seconds * static_cast<double>(b->saved) < b->seconds * static_cast<double>(a->saved);
    });
    return found;
  }

  std::vector<Step> with(std::span<const Maker* const> coded) const {
    std::vector<const Maker*> of(problem_.buffers.size(), nullptr);
    for (const Maker* m : coded) of[at(m->buffer)] = m;
    // Where each that is kept is decoded: in front of the use behind its longest wait.
    std::vector<std::size_t> last(problem_.buffers.size(), 0), wait(problem_.buffers.size(), 0),
        decoded_at(problem_.buffers.size(), 0);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const plan::Task& task = problem_.tasks[at(steps_[i].id)];
      for (const auto* list : {&task.reads, &task.writes}) {
        for (const BufferId b : *list) {
          if (last[at(b)] > 0 && i - last[at(b)] > wait[at(b)])
            wait[at(b)] = i - last[at(b)], decoded_at[at(b)] = i;
          last[at(b)] = i;
        }
      }
    }
    std::vector<Step> result;
    std::vector<char> ran(problem_.tasks.size(), 0);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const TaskId t = steps_[i].id;
      for (const BufferId b : problem_.tasks[at(t)].reads) {
        if (of[at(b)] != nullptr && runs_[at(maker_[at(b)])] == 1 && decoded_at[at(b)] == i)
          result.push_back({.id = of[at(b)]->run.back()});
      }
      result.push_back(steps_[i]);
      for (const BufferId b : problem_.tasks[at(t)].writes) {
        if (of[at(b)] != nullptr && maker_[at(b)] == t)
          result.push_back({.id = ran[at(t)] ? of[at(b)]->run.back() : of[at(b)]->run.front()});
      }
      ran[at(t)] = 1;
    }
    return needed(std::move(result));
  }

 private:
  bool can_be_coded(BufferId b) const { return codec_[at(b)] != nullptr && maker_[at(b)] >= 0; }
  // An encoder of the buffer and its decoder.
  bool is_codec(const Maker& m) const {
    return m.run.size() == 2 && m.instead.empty() && contains(problem_.tasks[at(m.run[0])].reads, m.buffer) &&
           problem_.tasks[at(m.run[1])].writes == std::vector<BufferId>{m.buffer};
  }

  // Without runs that make what nobody reads any more.
  std::vector<Step> needed(std::vector<Step> steps) const {
    std::vector<int> left(problem_.tasks.size(), 0);
    for (const Step& s : steps) ++left[at(s.id)];
    std::vector<char> wanted(problem_.buffers.size(), 0);
    for (const BufferId b : problem_.outputs) wanted[at(b)] = 1;
    std::vector<Step> kept;
    for (auto s = steps.rbegin(); s != steps.rend(); ++s) {
      const plan::Task& task = problem_.tasks[at(s->id)];
      const bool first = --left[at(s->id)] == 0 && !task.optional;
      if (!first &&
          std::none_of(task.writes.begin(), task.writes.end(), [&](BufferId b) { return wanted[at(b)]; }))
        continue;
      for (const BufferId b : task.writes) wanted[at(b)] = 0;
      for (const BufferId b : task.reads) wanted[at(b)] = 1;
      kept.push_back(std::move(*s));
    }
    std::reverse(kept.begin(), kept.end());
    return kept;
  }

  const plan::Problem& problem_;
  std::vector<Step> steps_;
  std::vector<int> runs_;
  std::vector<TaskId> maker_;  // by buffer; negative: none alone, or not to be run again
  std::vector<const Maker*> codec_;
};

}  // namespace

std::optional<plan::Plan> substitute(const plan::Problem& problem, std::span<const Maker* const> makers,
                                     const plan::Plan& plan, const plan::Options& options) {
  const Substituting substituting(problem, makers, plan);
  const std::vector<const Maker*> runs = substituting.instead_of_runs(), kept = substituting.kept();
  std::optional<plan::Plan> best;
  // Fewer of the runs leave more room, more of what is kept too; both cost time.
  constexpr std::size_t kParts = 4;
  for (std::size_t part = kParts; part > 0 && !runs.empty(); --part) {
    for (std::size_t other = 0; other <= kParts; ++other) {
      std::vector<const Maker*> coded(
          runs.begin(),
          runs.begin() + static_cast<std::ptrdiff_t>((runs.size() * part + kParts - 1) / kParts));
      coded.insert(coded.end(), kept.begin(),
                   kept.begin() + static_cast<std::ptrdiff_t>(kept.size() * other / kParts));
      std::vector<Step> steps = substituting.with(coded);
      // Only what replays may be finished: a pair in place may have lost its right.
      const plan::Replay replayed = plan::replay(problem, plan::with_drops(problem, steps));
      if (!replayed.broken.empty() || replayed.live_peak > options.budget ||
          (best && replayed.seconds >= best->seconds))
        continue;
      plan::Plan whole = plan::finish(problem, std::move(steps), options);
      if (plan::has_plan(whole)) best = std::move(whole);
    }
  }
  return best;
}

}  // namespace tidemark
