// Loops that are written as one where they read each other at constant distances: the executor's bits, whatever is left out.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/front/random_body.h"
#include "tidemark/compile/compile.h"
#include "tidemark/front/grad.h"

namespace tidemark {
namespace {

// Arrays of one shape that random statements make: neighbours, pads, parts written into others.
std::pair<Tensor, Tensor> random_stencils(std::uint64_t seed, Tensors pool) {
  testing_bodies::Dice d(seed);
  const Shape shape = pool[0].shape();
  const auto pick = [&] { return pool[static_cast<std::size_t>(d.below(static_cast<int>(pool.size())))]; };
  for (int statement = 0; statement < 10; ++statement) {
    const Tensor a = pick(), b = pick();
    const int axis = d.below(shape.rank());
    const std::int64_t n = shape[axis], k = 1 + d.below(2);
    std::vector<std::pair<std::int64_t, std::int64_t>> left(static_cast<std::size_t>(shape.rank()), {0, 0}),
        right = left, both = left;
    left[static_cast<std::size_t>(axis)] = {k, 0};
    right[static_cast<std::size_t>(axis)] = {0, k};
    both[static_cast<std::size_t>(axis)] = {1, k};
    switch (d.below(8)) {
      case 0:
        pool.push_back(pad(slice(a, axis, 0, n - k), left, 0.25) - b);
        break;
      case 1:
        pool.push_back(pad(slice(a, axis, k, n), right) * 0.5 + b);
        break;
      case 2:
        pool.push_back(update_slice(a, slice(b, axis, 1, n - 1) * slice(a, axis, 2, n), axis, 1));
        break;
      case 3: {
        const Tensor flux = slice(a, axis, 1, n) * slice(b, axis, 0, n - 1) - abs(slice(a, axis, 0, n - 1));
        pool.push_back(update_slice(
            b, slice(a, axis, 1, n - 1) - 0.3 * (slice(flux, axis, 1, n - 1) - slice(flux, axis, 0, n - 2)),
            axis, 1));
        break;
      }
      case 4:
        pool.push_back(tanh(a) + pad(slice(b, axis, 1, n - k), both, -1.0));
        break;
      case 5:
        pool.push_back(where(a > b, -a, maximum(b, a * b)));
        break;
      case 6:
        pool.push_back(pad(slice(pad(slice(a, axis, 0, n - 1),
                                     [&] {
                                       auto w = left;
                                       w[static_cast<std::size_t>(axis)] = {1, 0};
                                       return w;
                                     }()),
                                 axis, k, n),
                           right) +
                       b * mean(a));
        break;
      default:
        pool.push_back(a - b * 0.125);
        break;
    }
  }
  Tensor total = sum(square(pool.back()));
  for (std::size_t i = pool.size() - 4; i < pool.size(); ++i) total = total + sum(pool[i]);
  return {total, pool.back()};
}

Tensor wave(const std::vector<std::int64_t>& sizes, DType dtype, double rate) {
  return reshape(sin(cast(arange(Shape(sizes).numel()), dtype) * rate), sizes);
}

// Several programs in one, so that the compiler is called once.
void expect_bits(const Tensors& in, DType dtype, std::uint64_t first, bool looped, const Budget& budget) {
  const auto step = [&](const Tensors& x) {
    return value_and_grad([&](const Tensors& y) {
      Tensor total = full({}, 0.0, dtype);
      for (std::uint64_t seed = first; seed < first + (in[0].shape().rank() == 1 ? 3 : 1); ++seed) {
        if (looped)
          total = total + sum(square(scan(3, y[0], [&](const Tensor& s) {
                    return tanh(random_stencils(seed, {s, y[1]}).second);
                  })));
        else
          total = total + random_stencils(seed, y).first;
      }
      return total;
    })(x);
  };
  CompileOptions options{.memory = budget, .device = cpu({.threads = 1}), .time_limit = 0.1};
  auto plain = compile(step, options);
  const Tensors wanted = flatten(plain(in));
  options.native = true;
  options.native_cache = std::string(TIDEMARK_BINARY_DIR) + "/native_cache";
  auto native = compile(step, options);
  const Tensors got = flatten(native(in));
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    // Numbers that are none have bits of their own on every way to them.
    const Tensor doubles = cast(wanted[i], DType::f64);
    for (const double x : doubles.data<double>()) {
      if (!std::isfinite(x)) return;
    }
    EXPECT_EQ(std::memcmp(got[i].storage()->data(), wanted[i].storage()->data(),
                          static_cast<std::size_t>(got[i].type().bytes())),
              0)
        << i;
  }
}

TEST(Stencils, RandomOnesHaveTheExecutorsBits) {
  const Tensors line{wave({37}, DType::f64, 0.3), wave({37}, DType::f64, 0.7)},
      plane{wave({9, 11}, DType::f32, 0.2), wave({9, 11}, DType::f32, 0.9)};
  expect_bits(line, DType::f64, 106, false, Budget());
  expect_bits(line, DType::f64, 20, true, Budget::minimum());
  expect_bits(plane, DType::f32, 23, true, Budget());
}

// Minutes, nearly all of them the compiler's.
TEST(SlowStencils, MoreAtRandom_Slow) {
  const Tensors line{wave({37}, DType::f64, 0.3), wave({37}, DType::f64, 0.7)},
      plane{wave({9, 11}, DType::f32, 0.2), wave({9, 11}, DType::f32, 0.9)};
  for (std::uint64_t seed = 100; seed < 160; ++seed) {
    SCOPED_TRACE(seed);
    const bool flat = seed % 2 == 0, looped = seed % 4 < 2;
    expect_bits(flat ? line : plane, flat ? DType::f64 : DType::f32, seed, looped,
                seed % 3 == 0 ? Budget::minimum() : Budget());
  }
}

// The adjoint of an upwind step has a product that two faces read, the faces, and what they give to the cells; fourteen tasks in all.
TEST(Stencils, AnAdjointStepIsAFewLoops) {
  const auto loss = [](const Tensor& start) {
    const std::int64_t n = start.shape()[0];
    return sum(square(scan(5, start, [&](const Tensor& u) {
      const Tensor l = slice(u, 0, 0, n - 1), r = slice(u, 0, 1, n);
      const Tensor flux = 0.25 * (l * l + r * r) - 0.5 * maximum(abs(l), abs(r)) * (r - l);
      return update_slice(
          u, slice(u, 0, 1, n - 1) - 0.2 * (slice(flux, 0, 1, n - 1) - slice(flux, 0, 0, n - 2)), 0, 1);
    })));
  };
  auto f = compile([&](const Tensor& x) { return value_and_grad(loss)(x); });
  const std::string text = f.plan_for(wave({100}, DType::f64, 0.1)).emitted();
  const std::size_t begin = text.find("static void region_1("), end = text.find("\n}\n", begin);
  ASSERT_NE(begin, std::string::npos);
  int loops = 0;
  for (std::size_t at = text.find("for (", begin); at < end; at = text.find("for (", at + 1)) ++loops;
  EXPECT_LE(loops, 5) << text.substr(begin, end - begin);
}

}  // namespace
}  // namespace tidemark
