// The one parallel loop. Ranges are split into fixed chunks that depend on `n` and `grain` only, never on timing,
// so that what a chunk computes does not depend on the thread that runs it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "tidemark/base/api.h"

namespace tidemark {

namespace detail {
// A reference to a callable: no allocation, lives for the call.
class ChunkFunction {
 public:
  template <typename F>
  explicit ChunkFunction(F& f)
      : object_(&f), call_([](void* o, std::int64_t begin, std::int64_t end) { (*static_cast<F*>(o))(begin, end); }) {}
  void operator()(std::int64_t begin, std::int64_t end) const { call_(object_, begin, end); }

 private:
  void* object_;
  void (*call_)(void*, std::int64_t, std::int64_t);
};
TIDEMARK_API void run_chunks(int threads, std::int64_t n, std::int64_t grain, ChunkFunction f);
}  // namespace detail

// Calls f(begin, end) for half-open chunks of at most `grain` covering [0, n). An exception in f ends the process
// in a kernel; callers that can throw catch inside.
template <typename F>
void parallel_for(int threads, std::int64_t n, std::int64_t grain, F&& f) {
  if (n <= 0) return;
  if (threads <= 1 || n <= grain) {
    for (std::int64_t begin = 0; begin < n; begin += grain) f(begin, begin + grain < n ? begin + grain : n);
    return;
  }
  detail::run_chunks(threads, n, grain, detail::ChunkFunction(f));
}

TIDEMARK_API int hardware_threads();

}  // namespace tidemark
