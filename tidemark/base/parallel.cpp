// SPDX-License-Identifier: Apache-2.0
#include "tidemark/base/parallel.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace tidemark {

int hardware_threads() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

namespace detail {

#ifdef TIDEMARK_WITH_OPENMP
void run_chunks(int threads, std::int64_t n, std::int64_t grain, ChunkFunction f) {
  const std::int64_t chunks = (n + grain - 1) / grain;
  // Static: neighbouring chunks on one thread, and first-touch pages stay with it.
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t c = 0; c < chunks; ++c) f(c * grain, std::min(n, (c + 1) * grain));
}
#else
void run_chunks(int threads, std::int64_t n, std::int64_t grain, ChunkFunction f) {
  const std::int64_t chunks = (n + grain - 1) / grain;
  const std::int64_t workers = std::min<std::int64_t>(threads, chunks);
  const auto work = [&](std::int64_t w) {
    for (std::int64_t c = chunks * w / workers; c < chunks * (w + 1) / workers; ++c) f(c * grain, std::min(n, (c + 1) * grain));
  };
  std::vector<std::thread> pool;
  pool.reserve(static_cast<std::size_t>(workers - 1));
  for (std::int64_t w = 1; w < workers; ++w) pool.emplace_back(work, w);
  work(0);
  for (std::thread& t : pool) t.join();
}
#endif

}  // namespace detail
}  // namespace tidemark
