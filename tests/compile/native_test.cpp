// Emitted programs: readable, and the executor's bits when compiled.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "tests/compile/compare.h"
#include "tests/front/random_body.h"
#include "tidemark/compile/compile.h"
#include "tidemark/emit/emit.h"
#include "tidemark/front/cond.h"
#include "tidemark/front/grad.h"
#include "tidemark/front/scan.h"
#include "tidemark/ops/linalg.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/table.h"

namespace tidemark {
namespace {

std::string cache() { return std::string(TIDEMARK_BINARY_DIR) + "/native_cache"; }

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

// Files that were cut short, or are another's, are made again; threads that want the same one do not disturb each other.
TEST(Native, WhatLiesInTheFolderIsMadeAgainWhereItIsBroken) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(TIDEMARK_BINARY_DIR) / "native_cache_broken";
  fs::remove_all(folder);
  const Tensor x = wave({40, 7}, DType::f32, 0.3);
  const auto f = [](const Tensor& x) { return sum(tanh(x * 0.5) + square(x), {1}); };
  const Tensor wanted = compile(f)(x);
  const auto run = [&] { expect_bits({compile(f, {.native = true, .native_cache = folder})(x)}, {wanted}); };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(run);
  for (std::thread& t : threads) t.join();
  std::vector<fs::path> libraries;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".so") libraries.push_back(entry.path());
  }
  ASSERT_EQ(libraries.size(), 1u);
  const auto bytes = fs::file_size(libraries[0]);
  for (const std::uintmax_t left : {bytes / 2, bytes - 1, std::uintmax_t{0}}) {
    fs::resize_file(libraries[0], left);
    run();
    EXPECT_GT(fs::file_size(libraries[0]), left);
  }
  fs::copy_file("/proc/self/exe", libraries[0], fs::copy_options::overwrite_existing);
  run();
  EXPECT_NE(fs::file_size(libraries[0]), fs::file_size("/proc/self/exe"));
  fs::remove(libraries[0]);
  fs::create_directories(libraries[0] / "x");
  EXPECT_THROW(run(), Error);
  fs::remove_all(folder);
}

// What an op's kernel does must be what is written out for it, in either type; ops that are left to the executor pass.
TEST(Native, EveryOpHasTheExecutorsBits) {
  for (const DType d : {DType::f64, DType::f32}) {
    struct Call {
      const Op* op;
      Attrs attrs;
      std::size_t first, count;
    };
    std::vector<Call> calls;
    Tensors in;
    for (const Op* op : all_ops()) {
      if (op->samples == nullptr) continue;
      const std::vector<Sample> samples = op->samples();
      for (const Sample& s : samples) {
        if (s.diagonal != 0 || s.in.empty()) continue;
        calls.push_back({op, s.attrs, in.size(), s.in.size()});
        for (std::size_t i = 0; i < s.in.size(); ++i) {
          const auto range = i < s.ranges.size() ? s.ranges[i] : s.range;
          const DType type = s.in[i].dtype == DType::f64 ? d : s.in[i].dtype;
          const Tensor from0to1 = 0.5 + 0.499 * sin(cast(arange(s.in[i].shape.numel()), DType::f64) * (0.7 + 0.1 * static_cast<double>(i)));
          Tensor x = range[0] + (range[1] - range[0]) * from0to1;
          if (type == DType::boolean) x = cast(x > 0.5 * (range[0] + range[1]), DType::f64);
          else if (!is_float(type)) x = floor(x);
          in.push_back(cast(reshape(x, s.in[i].shape.sizes()), type));
        }
      }
    }
    const auto all = [&](const Tensors& x) {
      Tensors out;
      for (const Call& c : calls) {
        const auto from = x.begin() + static_cast<std::ptrdiff_t>(c.first);
        for (Tensor& y : apply(*c.op, Tensors(from, from + static_cast<std::ptrdiff_t>(c.count)), c.attrs, Where::current())) out.push_back(std::move(y));
      }
      return out;
    };
    const Tensors wanted = flatten(compile(all, {.correct = false})(in));
    const Tensors native = flatten(compile(all, {.native = true, .native_cache = cache(), .correct = false})(in));
    expect_bits(native, wanted);
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

// Loops of unknown length: their states all kept, a few of them, one inside a loop; and more steps than there may be.
TEST(Native, LoopsOfUnknownLength) {
  const Tensors in{wave({128}, DType::f64, 0.1), wave({128}, DType::f64, 0.37), wave({128}, DType::f64, 0.011)};
  const auto grown = [](const Tensors& x, double until) {
    const auto last = while_loop([&](const Tensor& u) { return sum(square(u)) < until; },
                                 [&](const Tensor& u) { return u * 1.01 + 0.001 * sin(x[1] * u) + 0.01 * x[2]; }, x[0], {.max_trips = 400});
    return sum(square(last.state) * x[1]);
  };
  const auto step = [&](double until) {
    return [&grown, until](const Tensors& x) { return value_and_grad([&](const Tensors& y) { return grown(y, until); })(x); };
  };
  expect_native(step(0.0), in);
  for (const Budget& budget : {Budget(), Budget(60_KiB)}) expect_native(step(500.0), in, {.memory = budget});
  auto endless = compile(step(1e300), {.native = true, .native_cache = cache()});
  for (const std::string& name : endless.plan_for(in).program().task_names) EXPECT_EQ(name, "native");
  try {
    endless(in);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::data);
    EXPECT_NE(std::string(e.what()).find("[while_loop] the condition still holds after max_trips 400 steps"), std::string::npos) << e.what();
  }
  expect_native(
      [](const Tensors& x) {
        return value_and_grad([](const Tensors& y) {
          return sum(square(scan(4, y[0], [&](const Tensor& s) {
            return 0.1 * y[1] + while_loop([&](const Tensor& u) { return sum(square(u)) < 70.0; },
                                           [&](const Tensor& u) { return u * 1.1 + 0.01 * sin(y[1] * u); }, s, {.max_trips = 50})
                                    .state;
          })));
        })(x);
      },
      in);
}

// Sums over the rows of narrow arrays, with a choice in them: what a bias of few units has for its gradient.
TEST(Native, SumsOfNarrowColumns) {
  Tensors in;
  for (const std::int64_t n : {1, 5, 12, 17}) {
    in.push_back(wave({6, n}, DType::f32, 0.9));
    in.push_back(wave({6, n}, DType::f32, 2.3));
  }
  expect_native(
      [](const Tensors& x) {
        Tensors all;
        for (std::size_t i = 0; i < x.size(); i += 2) {
          const Tensor kept = where(x[i] > 0.0, x[i + 1], zeros_like(x[i]));
          all.push_back(kept);
          all.push_back(sum(kept, {0}));
        }
        return all;
      },
      in);
}

// Parts of a step that are made only to be written into another array: with others that read them too, and without.
TEST(Native, PartsAreMadeInTheirPlaces) {
  const Tensors in{wave({40}, DType::f64, 0.3), wave({6, 5}, DType::f64, 0.7)};
  expect_native(
      [](const Tensors& x) {
        const auto inner = [](const Tensor& u) { return slice(u, 0, 1, 39); };
        const Tensor u = scan(7, x[0], [&](const Tensor& s) {
          const Tensor l = slice(s, 0, 0, 39), flux = l * slice(s, 0, 1, 40) - 0.3 * l;
          const Tensor change = slice(flux, 0, 1, 39) - slice(flux, 0, 0, 38);
          const Tensor next = update_slice(s, inner(s) - 0.1 * change, 0, 1);
          return next + pad(tanh(change), {{2, 0}}, 0.0) + pad(0.1 * change, {{1, 1}}, 0.25) + sum(change) * pad(change, {{0, 2}}, 1.0);
        });
        const Tensor v = scan(4, x[1], [&](const Tensor& s) { return update_slice(s, sin(slice(s, 0, 2, 4)), 0, 1) + update_slice(s, cos(slice(s, 1, 2, 4)), 1, 3); });
        return Tensors{u, v, grad([&](const Tensor& y) { return sum(square(scan(5, y, [&](const Tensor& s) { return update_slice(s, inner(s) * inner(s), 0, 1); }))); })(x[0])};
      },
      in);
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
