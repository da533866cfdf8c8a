// SPDX-License-Identifier: Apache-2.0
#include "hand.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tidemark/schedule/revolve.h"

namespace bench {

std::vector<double> Burgers::start() const {
  std::vector<double> u(static_cast<std::size_t>(cells));
  for (std::int64_t i = 0; i < cells; ++i)
    u[static_cast<std::size_t>(i)] =
        0.3 + std::sin(6.283185307179586 * static_cast<double>(i) / static_cast<double>(cells));
  return u;
}

HandAdjoint::HandAdjoint(const Burgers& problem, std::int64_t slots)
    : p_(problem),
      slots_(std::min(slots, problem.steps)),
      states_(static_cast<std::size_t>(slots_ * p_.cells)),
      flux_(static_cast<std::size_t>(p_.cells)),
      flux_adjoint_(static_cast<std::size_t>(p_.cells + 1)),
      working_(static_cast<std::size_t>(2 * p_.cells)),
      kept_(static_cast<std::size_t>(slots_)) {}

void HandAdjoint::step(const double* u, double* next) {
  const std::int64_t n = p_.cells;
  double* __restrict f = flux_.data();
  for (std::int64_t i = 0; i + 1 < n; ++i) {
    const double l = u[i], r = u[i + 1];
    f[i] = 0.25 * (l * l + r * r) - 0.5 * std::max(std::fabs(l), std::fabs(r)) * (r - l);
  }
  next[0] = u[0];
  next[n - 1] = u[n - 1];
#pragma GCC ivdep
  for (std::int64_t i = 1; i + 1 < n; ++i) next[i] = u[i] - p_.ratio * (f[i] - f[i - 1]);
}

// adjoint: of the state behind the step, then of the one before it.
void HandAdjoint::back(const double* u, double* a) {
  const std::int64_t n = p_.cells;
  double* __restrict left = flux_.data();           // the part of face i that goes to cell i
  double* __restrict right = flux_adjoint_.data();  // and to cell i + 1
  const auto face = [&](std::int64_t i, double below, double above) {
    const double g = p_.ratio * (above - below);  // the adjoint of flux i
    const double l = u[i], r = u[i + 1], al = std::fabs(l), ar = std::fabs(r);
    const double s = 0.5 * std::max(al, ar), d = 0.5 * (r - l);
    const double dl = al >= ar ? std::copysign(d, d * l) : 0.0, dr = al >= ar ? 0.0 : std::copysign(d, d * r);
    left[i] = g * (0.5 * l + s - dl);
    right[i] = g * (0.5 * r - s - dr);
  };
  face(0, 0.0, a[1]);
#pragma GCC ivdep
  for (std::int64_t i = 1; i + 2 < n; ++i) face(i, a[i], a[i + 1]);
  face(n - 2, a[n - 2], 0.0);
  a[0] += left[0];
#pragma GCC ivdep
  for (std::int64_t i = 1; i + 1 < n; ++i) a[i] += left[i] + right[i - 1];
  a[n - 1] += right[n - 2];
}

double HandAdjoint::run(const std::vector<double>& start, std::vector<double>& gradient) {
  const std::int64_t n = p_.cells, steps = p_.steps;
  const auto bytes = static_cast<std::size_t>(n) * sizeof(double);
  const auto slot = [&](std::int64_t k) { return states_.data() + k * n; };
  std::memcpy(slot(0), start.data(), bytes);
  std::int64_t depth = 1;
  kept_[0] = 0;
  const auto next_kept = [&](std::int64_t to) {
    return kept_[static_cast<std::size_t>(depth - 1)] +
           tidemark::schedule::revolve_split(to - kept_[static_cast<std::size_t>(depth - 1)],
                                             slots_ - depth + 1);
  };
  // From state `from`, which lies at `u`, to state `to`, put where it is wanted.
  const auto advance = [&](std::int64_t from, std::int64_t to, const double* u, double* into) {
    for (std::int64_t i = from; i < to; ++i) {
      double* next = i + 1 == to && into != nullptr ? into : working_.data() + (i & 1) * n;
      step(u, next);
      u = next;
    }
    return u;
  };
  const double* last = slot(0);
  while (depth < slots_ && steps - kept_[static_cast<std::size_t>(depth - 1)] > 1) {
    const std::int64_t at = next_kept(steps);
    last = advance(kept_[static_cast<std::size_t>(depth - 1)], at, slot(depth - 1), slot(depth));
    kept_[static_cast<std::size_t>(depth++)] = at;
  }
  last = advance(kept_[static_cast<std::size_t>(depth - 1)], steps, slot(depth - 1), nullptr);
  double energy = 0;
  gradient.resize(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    energy += last[i] * last[i];
    gradient[static_cast<std::size_t>(i)] = 2 * last[i];
  }
  for (std::int64_t to = steps; to > 0;) {
    const std::int64_t top = kept_[static_cast<std::size_t>(depth - 1)];
    if (top == to) {
      --depth;
    } else if (to - top == 1) {
      back(slot(depth - 1), gradient.data());
      to = top;
    } else if (depth == slots_) {
      back(advance(top, to - 1, slot(depth - 1), nullptr), gradient.data());
      --to;
    } else {
      const std::int64_t at = next_kept(to);
      advance(top, at, slot(depth - 1), slot(depth));
      kept_[static_cast<std::size_t>(depth++)] = at;
    }
  }
  return energy;
}

}  // namespace bench
