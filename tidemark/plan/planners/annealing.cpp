// Simulated annealing over the set of values kept over the turn, from the greedy one; a budget exceeded is paid for in time.
// Kirkpatrick, Gelatt & Vecchi 1983; FastSA (Imanishi et al., NeurIPS 2023) anneals recomputation in another way.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "tidemark/base/random.h"
#include "tidemark/plan/planners/keep_search.h"

namespace tidemark::plan::named {

Plan annealing(const Problem& problem, const Options& options) {
  const KeepSearch search(problem, options);
  return search.plan([&](Bytes budget, Limit& limit) {
    Rng rng(options.seed);
    Keep now = search.greedy(budget, limit), best = now;
    if (now.empty()) return best;
    KeepScore score = search.score(now), best_score = score;
    const double scale = score.seconds > 0 ? score.seconds : 1;
    const auto energy = [&](const KeepScore& s) {
      const double over = static_cast<double>(std::max<Bytes>(0, s.peak - budget)) /
                          static_cast<double>(std::max<Bytes>(1, budget));
      return s.seconds / scale + 10 * over;
    };
    // One value in or out, or one in for another. Colder by a factor of 1000 in `rounds` moves, and from the start again.
    const std::int64_t rounds = 20 * static_cast<std::int64_t>(now.size()) + 200;
    for (std::int64_t i = 0; !limit.time_is_up() && limit.spend_round(); ++i) {
      if (options.effort < 0 && i >= 50 * rounds) break;
      const double temperature =
          0.01 * std::pow(1e-3, static_cast<double>(i % rounds) / static_cast<double>(rounds));
      Keep trial = now;
      trial[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(now.size())))] ^= 1;
      if (rng.uniform() < 0.5)
        trial[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(now.size())))] ^= 1;
      const KeepScore s = search.score(trial);
      if (s.better_than(best_score, budget)) best = trial, best_score = s;
      const double rise = energy(s) - energy(score);
      if (rise > 0 && rng.uniform() >= std::exp(-rise / temperature)) continue;
      now = std::move(trial);
      score = s;
    }
    return best;
  });
}

}  // namespace tidemark::plan::named
