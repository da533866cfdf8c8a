// Emitted programs: readable, and the executor's bits when compiled.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include "tests/front/random_body.h"
#include "tidemark/compile/compile.h"
#include "tidemark/emit/emit.h"
#include "tidemark/front/cond.h"
#include "tidemark/front/grad.h"
#include "tidemark/front/scan.h"
#include "tidemark/ops/linalg.h"
#include "tidemark/ops/matmul.h"

namespace tidemark {
namespace {

std::string cache() { return std::string(TIDEMARK_BINARY_DIR) + "/native_cache"; }

void expect_bits(const Tensors& a, const Tensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].type(), b[i].type());
    EXPECT_EQ(std::memcmp(a[i].storage()->data(), b[i].storage()->data(), static_cast<std::size_t>(a[i].type().bytes())), 0) << i;
  }
}

Tensor wave(const std::vector<std::int64_t>& sizes, DType dtype, double rate) {
  std::int64_t n = 1;
  for (const std::int64_t s : sizes) n *= s;
  return reshape(sin(cast(arange(n), dtype) * rate), sizes);
}

template <typename F>
void expect_native(F f, const Tensors& in, CompileOptions options = {}) {
  const Tensors wanted = flatten(f(in));
  options.native = true;
  options.native_cache = cache();
  auto native = compile(f, options);
  expect_bits(flatten(native(in)), wanted);
  EXPECT_EQ(native.plan_for(in).peak_measured(), native.plan_for(in).peak_predicted());
}

// Many programs in one, so that the compiler is called once.
TEST(Native, MapsFoldsAndMoves) {
  for (const DType d : {DType::f64, DType::f32}) {
    const Tensors in{wave({37, 21}, d, 0.3), wave({21}, d, 0.7), wave({37, 1}, d, 1.1), wave({70'001}, d, 0.013), wave({600, 5}, d, 0.9)};
    expect_native(
        [](const Tensors& x) {
          const Tensor a = x[0] * x[1] + exp(x[2]) - 0.25, b = tanh(a) / (2.0 + square(a)), c = where(a > b, sqrt(abs(a)), sigmoid(b));
          return Tensors{b, c, sum(c), sum(b, {0}), sum(a, {1}), max(a, {1}), min(c), mean(x[3]), sum(x[4], {0}), prod(1.0 + 0.001 * x[4], {0}),
                         concat({slice(x[0], 0, 3, 9), flip(slice(x[0], 0, 0, 5), 1)}, 0), pad(x[1], {{2, 3}}, 0.5), roll(x[1], 4, 0), clamp(a, -0.5, 0.25),
                         contiguous(transpose(x[0])), cast(a * 10.0, DType::i32), cast(logical_or(a > 0.5, logical_not(a < b)), x[0].dtype()), erf(a), log1p(square(a)), cos(a * 3.0),
                         gelu(b), softplus(a), floor(a * 5.0), pow(square(a) + 0.5, b), update_slice(x[1], slice(x[1], 0, 0, 3), 0, 5, 2)};
        },
        in);
  }
}

TEST(Native, GradientOfALoopUnderABudget) {
  const Tensors in{wave({300}, DType::f64, 0.1), wave({300}, DType::f64, 0.37), wave({40, 300}, DType::f64, 0.011)};
  const auto loss = [](const Tensors& x) {
    const auto r = scan(
        40, x[0],
        [&](const Tensor& u, const Tensor& source) {
          return std::pair(u + 0.2 * (roll(u, 1, 0) + roll(u, -1, 0) - 2.0 * u) + 0.01 * source - 0.1 * x[1] * tanh(u), sum(square(u)));
        },
        x[2]);
    return sum(square(r.state)) + 0.1 * sum(r.ys);
  };
  const auto step = [&](const Tensors& x) { return value_and_grad(loss)(x); };
  expect_native(step, in);
  expect_native(step, in, {.memory = 0.8});
}

TEST(Native, RandomLoops) {
  for (std::uint64_t seed = 3; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    const testing_bodies::RandomLoop loop(seed, 2, 9, 16);
    expect_native([&](const Tensors& x) { return value_and_grad([&](const Tensors& y) { return loop.loss(y, true); })(x); }, loop.inputs());
  }
}

// What has no plain form of the executor's bits is left to the executor, between functions that are compiled.
TEST(Native, ProductsAndOthersAreTheExecutors) {
  const Tensors in{wave({24, 24}, DType::f64, 0.3), wave({24, 24}, DType::f64, 0.7)};
  const auto f = [](const Tensors& x) {
    const Tensor h = tanh(matmul(x[0], x[1]) + 0.5);
    const Tensor last = scan(5, h, [&](const Tensor& s) { return sin(s) * 0.5 + 0.1 * h; });
    const Tensor turned = scan(3, last, [&](const Tensor& s) { return 0.1 * matmul(s, x[1]); });
    return sum(square(matmul(turned, x[0])));
  };
  expect_native([&](const Tensors& x) { return value_and_grad(f)(x); }, in);
  auto native = compile([&](const Tensors& x) { return value_and_grad(f)(x); }, {.native = true, .native_cache = cache()});
  int own = 0, ours = 0;
  for (const std::string& name : native.plan_for(in).program().task_names) ++(name == "native" ? ours : own);
  EXPECT_GE(ours, 2);
  EXPECT_GE(own, 3);
  // As one file there is nobody to leave it to.
  try {
    compile([](const Tensors& x) { return sort(x[0], 0).values; }).plan_for(in).emitted();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::unsupported);
    EXPECT_NE(std::string(e.what()).find("[emit] sort (native_test.cpp:"), std::string::npos) << e.what();
  }
}

TEST(Native, ProductsAgreeToRoundingWhenEmitted) {
  const Tensors in{wave({3, 5, 7}, DType::f64, 0.3), wave({7, 4}, DType::f64, 0.7)};
  const auto f = [](const Tensors& x) { return matmul(tanh(x[0]), x[1]); };
  auto compiled = compile(f);
  Compiled& c = compiled.plan_for(in);
  const std::shared_ptr<const Kernel> kernel = load_native(c.emitted(), c.program().arena_bytes, {.cache = cache()});
  const EmittedParts whole{.runs = {{0, c.program().instrs.size()}}};
  Executor executor(std::make_shared<const Program>(native_program(c.program(), whole, {kernel})), cpu());
  void* const residents[] = {in[0].storage()->data(), in[1].storage()->data()};
  executor.run(residents);
  const Tensor wanted = f(in);
  const auto* got = static_cast<const double*>(executor.output(0, residents));
  for (std::size_t i = 0; i < wanted.data<double>().size(); ++i) EXPECT_NEAR(got[i], wanted.data<double>()[i], 1e-13);
}

TEST(Native, ReadsLikeTheProgram) {
  const Tensors in{wave({100}, DType::f32, 0.3)};
  auto f = compile([](const Tensors& x) { return sum(exp(name(x[0] * 2.0, "twice"))); }, {.name = "doubled"});
  const std::string text = f.plan_for(in).emitted();
  EXPECT_NE(text.find("// doubled: emitted from a plan"), std::string::npos);
  EXPECT_NE(text.find("native_test.cpp:"), std::string::npos);
  EXPECT_NE(text.find("scalar::exp("), std::string::npos);
  EXPECT_NE(text.find("extern \"C\" unsigned char* doubled("), std::string::npos);
}

}  // namespace
}  // namespace tidemark
