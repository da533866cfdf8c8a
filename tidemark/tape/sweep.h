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
TIDEMARK_INLINE void sweep_run(Real* adjoints, const Run<Real>& run) {
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

// Where argument Still is the same variable in all statements, its adjoint stays in a register: the chain of sums is then as
// long as an addition, not as a store and a load. The arguments of a statement differ, so no other one ever meets it. For lengths
// above 2, where a stride is below 2^31: indices are.
template <typename Real, int N, int Still>
TIDEMARK_INLINE void sweep_run_still(Real* adjoints, const Run<Real>& run) {
  const std::uint32_t last = run.length - 1;
  Real* to[N];
  std::ptrdiff_t stride[N];
#pragma GCC unroll 8
  for (int j = 0; j < N; ++j) {
    stride[j] = static_cast<std::int32_t>(run.stride[j]);
    to[j] = adjoints + (run.base[j] + run.stride[j] * last);
  }
  Real sum = *to[Still];
  const Real* of = adjoints + (run.first + last);
  const Real* partials = run.partials + static_cast<std::size_t>(last) * run.partial_stride;
  for (const Real* const end = adjoints + run.first;; --of, partials -= run.partial_stride) {
    const Real a = *of;
    if (!is_zero(a)) [[likely]] {
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) {
        if (j == Still)
          sum += partials[j] * a;
        else
          *to[j] += partials[j] * a;
      }
    }
    if (of == end) break;
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j)
      if (j != Still) to[j] -= stride[j];
  }
  *to[Still] = sum;
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

template <typename Real, int W>
[[gnu::noinline]] void sweep_run_wide(Real* adjoints, Run<Real> run) {
  sweep_run<Real, W, 0>(adjoints, run);
}

// Runs by what they consist of, for six numbers go in registers: most runs of inner loops are short, and would wait for a Run to be
// written and read back.
template <typename Real, int W, int N>
[[gnu::noinline]] void sweep_run_moving(Real* adjoints, const std::uint32_t* base, std::uint32_t length,
                                        std::uint32_t first, const Real* partials,
                                        std::uint32_t partial_stride) {
  const Run<Real> run{N, length, first, base, base + N, partials, partial_stride};
  if constexpr (W == 1 && std::is_floating_point_v<Real>)
    if (length >= kLaneRun && sweep_run_in_lanes<Real, N>(adjoints, run)) return;
  sweep_run<Real, W, N>(adjoints, run);
}
template <typename Real, int W, int N>
[[gnu::noinline]] void sweep_run_of(Real* adjoints, const std::uint32_t* base, std::uint32_t length,
                                    std::uint32_t first, const Real* partials, std::uint32_t partial_stride) {
  if constexpr (W == 1 && std::is_floating_point_v<Real>) {
    const Run<Real> run{N, length, first, base, base + N, partials, partial_stride};
    if (length == 1) return sweep_run<Real, W, N>(adjoints, {N, 1, first, base, base + N, partials, 0});
    if (length > 2 && run.stride[N - 1] == 0) return sweep_run_still<Real, N, N - 1>(adjoints, run);
    if (length > 2 && run.stride[0] == 0) return sweep_run_still<Real, N, 0>(adjoints, run);
  }
  sweep_run_moving<Real, W, N>(adjoints, base, length, first, partials, partial_stride);
}

template <typename Real, int W>
TIDEMARK_INLINE void sweep_one(Real* adjoints, const Run<Real>& run) {
  const auto of = [&](auto n) {
    sweep_run_of<Real, W, n>(adjoints, run.base, run.length, run.first, run.partials, run.partial_stride);
  };
  switch (run.n) {
    case 1:
      return of(std::integral_constant<int, 1>{});
    case 2:
      return of(std::integral_constant<int, 2>{});
    case 3:
      return of(std::integral_constant<int, 3>{});
    case 4:
      return of(std::integral_constant<int, 4>{});
    case 5:
      return of(std::integral_constant<int, 5>{});
    case 6:
      return of(std::integral_constant<int, 6>{});
    default:
      return sweep_run_wide<Real, W>(adjoints, run);
  }
}

// One run after another, the newest first. `index` is that of the first left side behind the chunk, and on return the first in it. `sweeper` has
// `run(run)`, `scattered(n, first, length, partials)`, which returns where its first partials begin, and `call(number)` for an external function.
template <typename Real, typename Sweeper>
TIDEMARK_INLINE void walk_chunk(const std::uint32_t* words, const std::uint32_t* end, const Real* partials,
                                std::uint32_t& index, Sweeper& sweeper) {
  std::uint32_t first = index;
  while (words < end) {
    const std::uint32_t header = *words++;
    const std::uint32_t n = header & 0xff, length = header >> kLengthShift;
    first -= length;
    if (n - 1 < kMaxArguments) [[likely]] {
      Run<Real> run;
      run.n = n;
      run.length = length;
      run.first = first;
      run.base = words;
      run.stride = words += n;
      if (length > 1) words += n;
      const bool constant = (header & kConstantBit) != 0;
      partials -= constant ? n : static_cast<std::size_t>(n) * length;
      run.partials = partials;
      run.partial_stride = constant ? 0 : n;
      sweeper.run(run);
    } else if (n == kExternal) {
      sweeper.call(*words++);
    } else if (n != kInputs) {
      partials = sweeper.scattered(n - kMaxArguments, first, length, partials);
    }
  }
  index = first;
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
