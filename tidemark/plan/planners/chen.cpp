// Segments: sqrt_n and chen_greedy (Chen, Xu, Zhang & Guestrin, "Training deep nets with sublinear memory cost", 2016) and
// the variants for graphs that are not chains (Jain et al., "Checkmate", MLSys 2020): linearised, which keeps only the
// output of the task at a boundary, and over articulation points, which puts boundaries only where one value alone crosses.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "tidemark/plan/planners/articulation.h"
#include "tidemark/plan/planners/outline.h"

namespace tidemark::plan::named {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

enum class Keeps { crossing, boundary };

// `boundaries`: places in the order, ascending; each is the last task of a segment.
std::vector<char> keep_at(const Outline& o, const std::vector<std::int32_t>& boundaries, Keeps keeps) {
  const Problem& p = *o.problem;
  std::vector<char> keep(p.buffers.size(), 0);
  if (keeps == Keeps::boundary) {
    for (const std::int32_t i : boundaries)
      for (const BufferId b : p.tasks[at(o.order[at(i)])].writes) keep[at(b)] = 1;
    return keep;
  }
  // A value is kept if a later segment of the forward part reads it.
  const auto segment = [&](std::int32_t i) {
    return std::lower_bound(boundaries.begin(), boundaries.end(), i) - boundaries.begin();
  };
  for (std::int32_t i = 0; i <= o.turn; ++i)
    for (const BufferId b : p.tasks[at(o.order[at(i)])].reads) {
      const TaskId m = o.maker[at(b)];
      if (m >= 0 && segment(o.place[at(m)]) != segment(i)) keep[at(b)] = 1;
    }
  return keep;
}

std::vector<std::int32_t> everywhere(const Outline& o) {
  std::vector<std::int32_t> all;
  for (std::int32_t i = 0; i <= o.turn; ++i) all.push_back(i);
  return all;
}

// ceil(sqrt(n)) segments over the places where one may end.
Plan sqrt_over(const Problem& problem, const Options& options, const std::vector<std::int32_t>& places,
               const Outline& o, Keeps keeps) {
  std::vector<std::int32_t> boundaries;
  const auto period = std::max<std::size_t>(
      1, static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(places.size())))));
  for (std::size_t i = period; i <= places.size(); i += period) boundaries.push_back(places[i - 1]);
  return finish(problem, runs_keeping(o, keep_at(o, boundaries, keeps)), options);
}

// Chen's Algorithm 3: a segment ends at the first possible place behind which `bytes` are exceeded; the best `bytes` is searched for.
Plan greedy_over(const Options& options, const std::vector<std::int32_t>& places, const Outline& o,
                 Keeps keeps) {
  Bytes total = 0;
  for (std::int32_t i = 0; i <= o.turn; ++i) total += o.made_bytes(o.order[at(i)]);
  constexpr int kTries = 60;
  std::vector<std::int32_t> last{-1};
  int tried = 0;
  return cheapest(o, options, [&](std::vector<Step>& runs) {
    while (tried < kTries) {
      // From one segment to as many as there are places, the ratio of one try to the next constant.
      const auto limit = static_cast<Bytes>(static_cast<double>(total) *
                                            std::pow(1e-3, static_cast<double>(tried++) / (kTries - 1)));
      std::vector<std::int32_t> boundaries;
      Bytes sum = 0;
      std::size_t next = 0;
      for (std::int32_t i = 0; i <= o.turn; ++i) {
        sum += o.made_bytes(o.order[at(i)]);
        while (next < places.size() && places[next] < i) ++next;
        if (sum <= limit || next == places.size() || places[next] != i) continue;
        boundaries.push_back(i);
        sum = 0;
      }
      if (boundaries == last) continue;
      runs = runs_keeping(o, keep_at(o, boundaries, keeps));
      last = std::move(boundaries);
      return true;
    }
    return false;
  });
}

}  // namespace

Plan sqrt_n(const Problem& problem, const Options& options) {
  const Outline o(problem);
  return sqrt_over(problem, options, everywhere(o), o, Keeps::crossing);
}
Plan chen_greedy(const Problem& problem, const Options& options) {
  const Outline o(problem);
  return greedy_over(options, everywhere(o), o, Keeps::crossing);
}
Plan linearised_sqrt_n(const Problem& problem, const Options& options) {
  const Outline o(problem);
  return sqrt_over(problem, options, everywhere(o), o, Keeps::boundary);
}
Plan linearised_greedy(const Problem& problem, const Options& options) {
  const Outline o(problem);
  return greedy_over(options, everywhere(o), o, Keeps::boundary);
}
Plan ap_sqrt_n(const Problem& problem, const Options& options) {
  const Outline o(problem);
  return sqrt_over(problem, options, articulation_places(o), o, Keeps::boundary);
}
Plan ap_greedy(const Problem& problem, const Options& options) {
  const Outline o(problem);
  return greedy_over(options, articulation_places(o), o, Keeps::boundary);
}

}  // namespace tidemark::plan::named
