// A genetic algorithm over the set of values kept over the turn: tournaments, two-point crossover along the order in
// which they are made, mutation, the best always survives. Holland 1975.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/base/random.h"
#include "tidemark/plan/planners/keep_search.h"

namespace tidemark::plan::named {

Plan evolutionary(const Problem& problem, const Options& options) {
  const KeepSearch search(problem, options);
  return search.plan([&](Bytes budget, Limit& limit) {
    struct One {
      Keep keep;
      KeepScore score;
    };
    Rng rng(options.seed);
    const std::size_t n = search.size();
    const auto index = [&](std::size_t below) {
      return static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(below)));
    };
    std::vector<One> people;
    const auto add = [&](Keep keep) {
      const KeepScore score = search.score(keep);
      people.push_back({std::move(keep), score});
    };
    add(search.greedy(budget, limit));
    if (n == 0) return people[0].keep;
    constexpr std::size_t kPeople = 24;
    for (std::size_t k = 2; people.size() < kPeople && !limit.time_is_up(); ++k) {
      Keep keep(n, 0);
      for (std::size_t i = 0; i < n; ++i) keep[i] = k % 2 == 0 ? i % (k / 2 + 1) == 0 : rng.uniform() < 0.5;
      add(std::move(keep));
    }
    const auto best = [&] {
      return std::min_element(people.begin(), people.end(), [&](const One& a, const One& b) {
        return a.score.better_than(b.score, budget);
      });
    };
    const auto chosen = [&]() -> const One& {
      const One *a = &people[index(people.size())], *b = &people[index(people.size())];
      return a->score.better_than(b->score, budget) ? *a : *b;
    };
    std::int64_t born = 0;
    while (!limit.time_is_up() && limit.spend_round()) {
      if (options.effort < 0 && ++born > 1000 * static_cast<std::int64_t>(n) + 10'000) break;
      Keep child = chosen().keep;
      const One& other = chosen();
      const std::size_t from = index(n), to = from + index(n - from + 1);
      std::copy(other.keep.begin() + static_cast<std::ptrdiff_t>(from),
                other.keep.begin() + static_cast<std::ptrdiff_t>(to),
                child.begin() + static_cast<std::ptrdiff_t>(from));
      for (int changes = 1 + static_cast<int>(index(3)); changes > 0; --changes) child[index(n)] ^= 1;
      const KeepScore score = search.score(child);
      // The loser of a tournament makes room; never the best.
      const std::size_t a = index(people.size()), b = index(people.size());
      One& worse = people[a].score.better_than(people[b].score, budget) ? people[b] : people[a];
      if (score.better_than(worse.score, budget)) worse = {std::move(child), score};
    }
    return best()->keep;
  });
}

}  // namespace tidemark::plan::named
