// The binomial schedule on chains, with as many slots as the budget allows. Griewank & Walther 2000; schedule/revolve.h.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/plan/planners/chain_shape.h"
#include "tidemark/schedule/schedules.h"

namespace tidemark::plan::named {

Plan revolve(const Problem& problem, const Options& options) {
  const Outline o(problem);
  const ChainShape chain = chain_shape("revolve", o);
  const auto steps = static_cast<std::int64_t>(chain.steps());
  std::int64_t slots = 0;
  return cheapest(o, options, [&](std::vector<Step>& runs) {
    if (slots >= steps) return false;
    slots = std::min(steps, std::max(slots + 1, slots + slots / 8));
    const auto schedule = schedule::revolve(steps, slots);
    using Kind = schedule::Action::Kind;
    // What is saved and discarded follows from the runs: a value lives until its last use before it is made again.
    for (auto a = schedule->next(); a.kind != Kind::done; a = schedule->next()) {
      const auto from = static_cast<std::size_t>(a.from), to = static_cast<std::size_t>(a.to);
      for (std::size_t i = from; a.kind == Kind::advance && i < to; ++i)
        runs.push_back({Step::Kind::run, chain.forward[i], -1, {}});
      for (std::size_t i = to; a.kind == Kind::reverse && i-- > from;)
        for (const TaskId t : chain.back[i]) runs.push_back({Step::Kind::run, t, -1, {}});
    }
    return true;
  });
}

}  // namespace tidemark::plan::named
