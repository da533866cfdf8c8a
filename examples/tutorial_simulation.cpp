// docs/tutorials/simulation.md: the gradient of a simulation with respect to where it started, in a part of the memory.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

#include "tidemark/tidemark.h"

using namespace tidemark;

// Fisher's equation on a ring: what spreads and grows. One explicit step.
Tensor advance(const Tensor& u) {
  const Tensor spread = roll(u, 1, 0) - 2.0 * u + roll(u, -1, 0);
  return u + 0.2 * spread + 0.1 * (u * (1.0 - u));
}

Tensor misfit(Tensor u, const Tensor& seen) {
  for (int t = 0; t < 100; ++t) u = advance(u);  // an ordinary loop, written out by the trace
  return mean(square(u - seen));
}

// As one value of the program: good for any number of steps.
Tensor long_misfit(const Tensor& u, const Tensor& seen) {
  return mean(square(scan(2000, u, advance) - seen));
}

int main() {
  const Tensor start = full({16384}, 0.1), seen = full({16384}, 0.8);
  auto all = compile(value_and_grad(misfit));
  auto tight = compile(value_and_grad(misfit), {.memory = 0.3, .time_limit = 2});
  const auto a = all(start, seen), b = tight(start, seen);
  const Compiled &large = all.plan_for(start, seen), &small = tight.plan_for(start, seen);
  std::printf("misfit %.6f\n", static_cast<double>(b.value.item<float>()));
  std::printf("keeping everything: %s\n", format_bytes(large.peak_measured()).c_str());
  std::printf("in less:            %s, %.0f %% more time by the cost model\n",
              format_bytes(small.peak_measured()).c_str(),
              100 * (small.plan().seconds / large.plan().seconds - 1));
  const bool same = std::ranges::equal(a.grad.data<float>(), b.grad.data<float>());
  std::printf("the same gradient:  %s\n", same ? "to the bit" : "no");

  const Tensor few = full({1024}, 0.1), seen_few = full({1024}, 0.8);
  auto loop = compile(value_and_grad(long_misfit), {.memory = 256_KiB});
  const auto c = loop(few, seen_few);
  std::printf("2000 steps:         %s, misfit %.6f\n",
              format_bytes(loop.plan_for(few, seen_few).peak_measured()).c_str(),
              static_cast<double>(c.value.item<float>()));
  return same ? 0 : 1;
}
