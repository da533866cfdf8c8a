// The mixture written on Tensors and compiled, on one thread; compiling is not in the time.
// SPDX-License-Identifier: Apache-2.0
#include "bench/tape/problems.h"
#include "tidemark/tidemark.h"

namespace problems {
namespace {

using namespace tidemark;

struct Mixture {
  Tensor alphas, means, icf;
};

// As gmm_objective, line by line; `places` says where in a row of factors each number of a triangle is, and has the column of zeros for
// the others.
Tensor objective(const Gmm& g, const Mixture& p, const Tensor& x, const Tensor& places) {
  const std::int64_t d = g.d, k = g.k, triangle = g.triangle();
  const Tensor logarithms = slice(p.icf, 1, 0, d);
  const Tensor factors =
      concat({exp(logarithms), slice(p.icf, 1, d, triangle), zeros_like(slice(p.icf, 1, 0, 1))}, 1);
  const Tensor centred = unsqueeze(x, 0) - unsqueeze(p.means, 1);
  const Tensor q = matmul(centred, reshape(gather(factors, places, 1), {k, d, d}));
  const Tensor terms = unsqueeze(p.alphas + sum(logarithms, {1}), 1) - 0.5 * sum(square(q), {2});
  const Tensor prior =
      0.5 * g.gamma * g.gamma * sum(square(factors)) - static_cast<double>(g.m) * sum(logarithms);
  return sum(logsumexp(terms, {0})) - static_cast<double>(g.n) * logsumexp(p.alphas, {0}) + prior +
         gmm_constant(g);
}

Sample gmm_compiled(const Gmm& g) {
  const std::int64_t d = g.d, k = g.k, n = g.n, triangle = g.triangle();
  std::vector<std::int64_t> places;
  for (std::int64_t c = 0; c < k; ++c) {
    std::int64_t next = d;
    for (std::int64_t i = 0; i < d; ++i)
      for (std::int64_t j = 0; j < d; ++j) places.push_back(j == i ? i : j > i ? next++ : triangle);
  }
  const auto part = [&](std::int64_t from, std::int64_t count) {
    const auto begin = g.parameters.begin() + from;
    return std::vector<double>(begin, begin + count);
  };
  const Mixture p{tensor(part(0, k), {k}), tensor(part(k, k * d), {k, d}),
                  tensor(part(k + k * d, k * triangle), {k, triangle})};
  const Tensor x = tensor(g.x, {n, d}), at = tensor(places, {k, d * d});
  const auto f = [&g](const Mixture& q, const Tensor& y, const Tensor& z) { return objective(g, q, y, z); };
  static auto step = compile(value_and_grad(f), {.memory = 1_GiB, .device = cpu({.threads = 1})});
  Sample s;
  step(p, x, at);  // compiles
  const double start = cpu_seconds();
  const auto [value, gradient] = step(p, x, at);
  s.seconds = cpu_seconds() - start;
  s.value = value.template item<double>();
  for (const Tensor& t : {gradient.alphas, gradient.means, gradient.icf})
    s.gradient.insert(s.gradient.end(), t.data<double>().begin(), t.data<double>().end());
  return s;
}

}  // namespace

Tool compiled_tool() { return {"tidemark, compiled", nullptr, gmm_compiled}; }

}  // namespace problems
