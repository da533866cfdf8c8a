// The reverse sweep over one chunk of the tape: runs from the newest to the oldest, and in each run statements from the
// last to the first. Adjoint i of direction w lies at [i * W + w].
// A zero adjoint contributes nothing, whatever the partial: 0 * infinity does not reach the gradient.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tidemark/tape/recorder.h"

namespace tidemark::tape {

// Descriptors: one word with n (8 bits), `constant` (1 bit) and the length (23 bits), then the n indices of the first
// statement's arguments, then, if the length is above 1, n strides. A scattered run is the one word with kMaxArguments + n. Two values of n are
// no statements:
inline constexpr std::uint32_t kInputs = 0, kExternal = 255;
inline constexpr std::uint32_t kConstantBit = 1u << 8;
inline constexpr int kLengthShift = 9;

template <typename Real>
struct Run {
  std::uint32_t n, length;
  std::uint32_t first;           // index of the first left side
  const std::uint32_t* base;     // n
  const std::uint32_t* stride;   // n, where length > 1
  const Real* partials;          // of the first statement
  std::uint32_t partial_stride;  // n, or 0 where all statements have the same
};

template <typename Real>
TIDEMARK_INLINE bool is_zero(const Real& a) {
  if constexpr (std::is_floating_point_v<Real>)
    return a == Real(0);
  else
    return same_bits(a, Real(0));
}

// A symbol's own rule for zeros (trace.h) comes first.
template <typename Real>
TIDEMARK_INLINE void add_term(Real& to, const Real& partial, const Real& adjoint) {
  if constexpr (requires { add_product(to, partial, adjoint); })
    add_product(to, partial, adjoint);
  else
    to += partial * adjoint;
}

// The run's statements one by one. N > 0: n is known when compiling.
template <typename Real, int W, int N>
void sweep_run(Real* adjoints, const Run<Real>& run) {
  const std::uint32_t n = N > 0 ? static_cast<std::uint32_t>(N) : run.n;
  const Real* partials = run.partials + static_cast<std::size_t>(run.length - 1) * run.partial_stride;
  std::uint32_t at[N > 0 ? N : kMaxArguments];
#pragma GCC unroll 8
  for (std::uint32_t j = 0; j < n; ++j)
    at[j] = run.base[j] + (run.length > 1 ? run.stride[j] * (run.length - 1) : 0);
  for (std::uint32_t k = run.length;;) {
    --k;
    const Real* of = adjoints + static_cast<std::size_t>(run.first + k) * W;
    if constexpr (W == 1) {
      const Real a = *of;
      if (!is_zero(a))
#pragma GCC unroll 8
        for (std::uint32_t j = 0; j < n; ++j) add_term(adjoints[at[j]], partials[j], a);
    } else {
      Real a[W];
      for (int w = 0; w < W; ++w) a[w] = of[w];
#pragma GCC unroll 8
      for (std::uint32_t j = 0; j < n; ++j) {
        Real* to = adjoints + static_cast<std::size_t>(at[j]) * W;
        for (int w = 0; w < W; ++w) to[w] = is_zero(a[w]) ? to[w] : to[w] + partials[j] * a[w];
      }
    }
    if (k == 0) return;
    partials -= run.partial_stride;
#pragma GCC unroll 8
    for (std::uint32_t j = 0; j < n; ++j) at[j] -= run.stride[j];
  }
}

// A scattered run, of which `end` is behind the last statement's partials and indices; returns where the first's begin.
template <typename Real, int W, int N>
const Real* sweep_scattered(Real* adjoints, std::uint32_t first, std::uint32_t length, const Real* end) {
  for (std::uint32_t k = length; k-- > 0;) {
    end -= scattered_size<Real>(N);
    std::uint32_t at[N];
    std::memcpy(at, end + N, sizeof at);
    const Real* of = adjoints + static_cast<std::size_t>(first + k) * W;
    for (int w = 0; w < W; ++w) {
      const Real a = of[w];
      if (is_zero(a)) continue;
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) add_term(adjoints[static_cast<std::size_t>(at[j]) * W + w], end[j], a);
    }
  }
  return end;
}

// Where argument Still is the same variable in all statements and no other argument ever meets it, its adjoint stays in a
// register: the chain of sums is then as long as an addition, not as a store and a load.
template <typename Real, int N, int Still>
bool sweep_run_still(Real* adjoints, const Run<Real>& run) {
  std::uint32_t at[N];
  const std::uint32_t last = run.length - 1, still = run.base[Still];
#pragma GCC unroll 8
  for (int j = 0; j < N; ++j) {
    at[j] = run.base[j] + run.stride[j] * last;
    if (j == Still) continue;
    const auto [low, high] = std::minmax(run.base[j], at[j]);
    if (low <= still && still <= high) return false;
  }
  Real sum = adjoints[still];
  const Real* partials = run.partials + static_cast<std::size_t>(last) * run.partial_stride;
  for (std::uint32_t k = run.length; k-- > 0; partials -= run.partial_stride) {
    const Real a = adjoints[run.first + k];
    if (!is_zero(a)) {
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) {
        if (j == Still)
          sum += partials[j] * a;
        else
          adjoints[at[j]] += partials[j] * a;
      }
    }
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j)
      if (j != Still) at[j] -= run.stride[j];
  }
  adjoints[still] = sum;
  return true;
}

inline constexpr std::uint32_t kLaneRun = 8;  // shorter runs are not worth the look

template <typename Real>
using Lanes [[gnu::vector_size(64)]] = Real;

// kLanes statements at a time, where every argument moves along with the left side, or stands still. The sums have the
// same order, and so the same bits, as one statement at a time: within a group the arguments go from the lowest index
// up, so that an adjoint meets its later statements first.
template <typename Real, int N>
bool sweep_run_in_lanes(Real* adjoints, const Run<Real>& run) {
  constexpr std::uint32_t kLanes = 64 / sizeof(Real);
  if (run.length < kLanes) return false;
  std::uint32_t order[N];
  std::uint32_t moving = 0;
#pragma GCC unroll 8
  for (std::uint32_t j = 0; j < N; ++j) {
    // Nearer than that, a lane would read what another has yet to write.
    if (run.stride[j] != 1 || run.first - run.base[j] < kLanes) return false;
    std::uint32_t at = moving++;
    for (; at > 0 && run.base[order[at - 1]] > run.base[j]; --at) order[at] = order[at - 1];
    order[at] = j;
  }
  using V = Lanes<Real>;
  std::uint32_t k = run.length;
  for (; k >= kLanes; k -= kLanes) {
    const std::uint32_t low = k - kLanes;
    V a;
    std::memcpy(&a, adjoints + run.first + low, sizeof(V));
    const Real* block = run.partials + static_cast<std::size_t>(low) * run.partial_stride;
    V p[N];
    if (run.partial_stride == 0) {
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) p[j] = block[j] - V{};
    } else if constexpr (N == 1) {
      std::memcpy(&p[0], block, sizeof(V));
    } else {
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j)
        for (std::uint32_t l = 0; l < kLanes; ++l) p[j][l] = block[l * N + static_cast<std::uint32_t>(j)];
    }
    for (int i = 0; i < N; ++i) {
      const std::uint32_t j = order[i];
      Real* to = adjoints + run.base[j] + low;
      V sum;
      std::memcpy(&sum, to, sizeof(V));
      const V more = sum + p[j] * a;
      sum = a == Real(0) ? sum : more;
      std::memcpy(to, &sum, sizeof(V));
    }
  }
  if (k > 0) {
    Run<Real> rest = run;
    rest.length = k;
    sweep_run<Real, 1, N>(adjoints, rest);
  }
  return true;
}

template <typename Real, int W, int N>
TIDEMARK_INLINE void sweep_runs_of(Real* adjoints, const Run<Real>& run) {
  if constexpr (W == 1 && std::is_floating_point_v<Real>) {
    if (run.length > 2 && run.stride[N - 1] == 0 && sweep_run_still<Real, N, N - 1>(adjoints, run)) return;
    if (run.length > 2 && run.stride[0] == 0 && sweep_run_still<Real, N, 0>(adjoints, run)) return;
    if (run.length >= kLaneRun && sweep_run_in_lanes<Real, N>(adjoints, run)) return;
  }
  sweep_run<Real, W, N>(adjoints, run);
}

template <typename Real, int W>
TIDEMARK_INLINE void sweep_one(Real* adjoints, const Run<Real>& run) {
  switch (run.n) {
    case 1:
      return sweep_runs_of<Real, W, 1>(adjoints, run);
    case 2:
      return sweep_runs_of<Real, W, 2>(adjoints, run);
    case 3:
      return sweep_runs_of<Real, W, 3>(adjoints, run);
    case 4:
      return sweep_runs_of<Real, W, 4>(adjoints, run);
    case 5:
      return sweep_runs_of<Real, W, 5>(adjoints, run);
    case 6:
      return sweep_runs_of<Real, W, 6>(adjoints, run);
    default:
      return sweep_run<Real, W, 0>(adjoints, run);
  }
}

// One run after another, the newest first. `index` is that of the first left side behind the chunk, and on return the first in it. `sweeper` has
// `run(run)`, `scattered(n, first, length, partials)`, which returns where its first partials begin, and `call(number)` for an external function.
template <typename Real, typename Sweeper>
TIDEMARK_INLINE void walk_chunk(const std::uint32_t* words, const std::uint32_t* end, const Real* partials,
                                std::uint32_t& index, Sweeper& sweeper) {
  while (words < end) {
    const std::uint32_t header = *words++;
    Run<Real> run;
    run.n = header & 0xff;
    run.length = header >> kLengthShift;
    index -= run.length;
    if (run.n == kInputs) continue;
    if (run.n == kExternal) {
      sweeper.call(*words++);
      continue;
    }
    if (run.n > kMaxArguments) {
      partials = sweeper.scattered(run.n - kMaxArguments, index, run.length, partials);
      continue;
    }
    run.first = index;
    run.base = words;
    words += run.n;
    run.stride = words;
    if (run.length > 1) words += run.n;
    const bool constant = (header & kConstantBit) != 0;
    partials -= constant ? run.n : static_cast<std::size_t>(run.n) * run.length;
    run.partials = partials;
    run.partial_stride = constant ? 0 : run.n;
    sweeper.run(run);
  }
}

// Over adjoints that lie one beside another from index 0 on.
template <typename Real, int W, typename Call>
struct Sweeper {
  Real* adjoints;
  Call& call;
  TIDEMARK_INLINE void run(const Run<Real>& run) { sweep_one<Real, W>(adjoints, run); }
  TIDEMARK_INLINE const Real* scattered(std::uint32_t n, std::uint32_t first, std::uint32_t length,
                                        const Real* partials) {
    static_assert(kMaxFew == 3);
    switch (n) {
      case 1:
        return sweep_scattered<Real, W, 1>(adjoints, first, length, partials);
      case 2:
        return sweep_scattered<Real, W, 2>(adjoints, first, length, partials);
      default:
        return sweep_scattered<Real, W, 3>(adjoints, first, length, partials);
    }
  }
};

}  // namespace tidemark::tape
