// Keeps nothing over the turn: every task behind it makes again what it reads, from what cannot be made again.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/base/error.h"
#include "tidemark/plan/planners/outline.h"

namespace tidemark::plan::named {

Plan recompute_all(const Problem& problem, const Options& options) {
  const Outline o(problem);
  const Limit limit = limit_of(options);
  Sequencer sequencer(o);
  std::vector<BufferId> forward;
  for (std::size_t b = 0; b < problem.buffers.size(); ++b)
    if (o.droppable[b]) forward.push_back(static_cast<BufferId>(b));
  for (std::size_t i = 0; i < o.order.size(); ++i) {
    TIDEMARK_CHECK(sequencer.run(o.order[i]));
    if (static_cast<std::int32_t>(i) < o.turn) continue;
    for (const BufferId b : forward) sequencer.drop(b);
    // A plan's steps are counted in 32 bits, and nobody carries out that many.
    if (limit.time_is_up() || sequencer.size() > 100'000'000) {
      Plan plan{.status = Plan::Status::timed_out, .budget = options.budget};
      plan.reason = "the time was up with " + std::to_string(sequencer.size()) + " runs listed";
      return plan;
    }
  }
  return finish(problem, sequencer.take(), options);
}

}  // namespace tidemark::plan::named
