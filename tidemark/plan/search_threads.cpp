// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/search_threads.h"

#include <atomic>
#include <exception>
#include <memory>
#include <thread>

namespace tidemark::plan {

void improve_on_threads(Search& search, const Model& model, SearchOptions options, const Limit& limit,
                        const SearchThreads& threads) {
  const auto count = static_cast<std::size_t>(threads.count);
  const double enough = options.enough;
  const std::uint64_t seed = options.seed;
  std::vector<Limit> limits(count, limit.share(threads.count));
  std::vector<std::unique_ptr<Search>> searches;
  for (std::size_t k = 0; k < count; ++k) {
    if (k > 0) limits[k].ask({});  // the caller's thread does
    options.seed = seed + 1000 * k;
    searches.push_back(std::make_unique<Search>(model, options, limits[k]));
    searches.back()->adopt(search);
  }
  std::atomic<bool> stop = false;
  std::vector<std::exception_ptr> failures(count);
  const auto work = [&](std::size_t k) {
    try {
      searches[k]->improve([&] { return (k > 0 || threads.go_on(*searches[0])) && !stop.load(); });
    } catch (...) {
      failures[k] = std::current_exception();
    }
    // With rounds to spend, each spends its own, or the result would depend on who is first.
    if (!threads.counted && (searches[k]->best_seconds() <= enough || k == 0)) stop = true;
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t k = 1; k < count; ++k) others.emplace_back(work, k);
    work(0);
  }
  for (std::size_t k = 0; k < count; ++k) {
    if (failures[k]) std::rethrow_exception(failures[k]);
    search.adopt_best(*searches[k]);
  }
}

}  // namespace tidemark::plan
