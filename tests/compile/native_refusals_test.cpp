// Compiled parts and emitted files refuse the data that the executor refuses, in its words, and leave state as before.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>

#include "tidemark/compile/compile.h"
#include "tidemark/emit/emit.h"
#include "tidemark/front/cond.h"
#include "tidemark/front/grad.h"
#include "tidemark/front/scan.h"
#include "tidemark/ops/conv.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/gather.h"
#include "tidemark/ops/norm.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

using Function = std::function<Tensors(const Tensors&)>;

std::string cache() { return std::string(TIDEMARK_BINARY_DIR) + "/native_cache"; }

Tensor wave(const Shape& shape) {
  return reshape(sin(cast(arange(shape.numel()), DType::f32) * 0.7), shape.sizes());
}
Tensor indices(const std::vector<std::int64_t>& i, DType dtype = DType::i64) {
  return cast(tensor(i, {static_cast<std::int64_t>(i.size())}), dtype);
}

std::string refusal(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::data) << e.what();
    return e.what();
  }
  return "taken";
}

std::vector<std::byte> bits(const Tensor& t) {
  return {t.storage()->data(), t.storage()->data() + t.type().bytes()};
}

// The planned program as one file, run on these arrays, which it updates.
class Emitted {
 public:
  explicit Emitted(Compiled& plan)
      : text_(plan.emitted()),
        executor_(std::make_shared<const Program>(
                      native_program(plan.program(), {.runs = {{0, plan.program().instrs.size()}}},
                                     {load_native(text_, plan.program().arena_bytes, {.cache = cache()})})),
                  cpu()) {}
  void run(const Tensors& arrays) {
    std::vector<void*> residents;
    for (const Tensor& t : arrays) residents.push_back(t.storage()->data());
    executor_.run(residents);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  Executor executor_;
};

// What was refused, without the task, which one function for the whole step does not know.
std::string words_of(const std::string& message) { return message.substr(0, message.find(", in '")); }

struct Refused {
  const char* what;
  Function f;
  Tensors good;
  std::vector<Tensors> bad;
};

std::vector<Refused> refused() {
  const Tensor row = wave({10}), rows = wave({10, 3}), good = indices({1, 2, 9, 0}),
               high = indices({1, 10, 11, 3}), low = indices({3, 1, -1, -2}), zero = wave({});
  const auto select = [](const Tensors& x) { return Tensors{1.0 + index_select(2.0 * x[0], x[1], 0)}; };
  const auto lookup = [](const Tensors& x) { return Tensors{tanh(embedding(2.0 * x[0], x[1]))}; };
  const auto loop = [](const Tensors& x) {
    return scan(
        4, x[2],
        [&](const Tensor& s, const Tensor& i) {
          return sin(s) + sum(index_select(x[0], reshape(i, {1}), 0));
        },
        x[1]);
  };
  return {
      {"one axis", select, {row, good}, {{row, high}, {row, low}}},
      {"one axis, i32",
       select,
       {row, cast(good, DType::i32)},
       {{row, cast(high, DType::i32)}, {row, cast(low, DType::i32)}}},
      {"rows", select, {rows, good}, {{rows, high}, {rows, low}}},
      {"an axis inside",
       [](const Tensors& x) { return Tensors{1.0 + index_select(x[0], x[1], 1)}; },
       {wave({2, 10, 3}), good},
       {{wave({2, 10, 3}), high}}},
      {"a table", lookup, {rows, good}, {{rows, high}, {rows, low}}},
      {"no rows at all", lookup, {wave({0, 3}), indices({})}, {}},
      {"a table of no rows", lookup, {}, {{wave({0, 3}), indices({0})}}},
      {"a gradient",
       [](const Tensors& x) {
         return Tensors{grad([&](const Tensor& t) { return sum(square(embedding(t, x[1]))); })(x[0])};
       },
       {rows, good},
       {{rows, high}}},
      {"labels",
       [](const Tensors& x) { return Tensors{cross_entropy(2.0 * x[0], x[1], -100)}; },
       {wave({4, 6}), indices({0, 5, -100, 1})},
       {{wave({4, 6}), indices({0, -100, 6, 1})}, {wave({4, 6}), indices({-1, 7, 0, 1})}}},
      {"places of a pool",
       [](const Tensors& x) {
         return Tensors{max_unpool2d(x[0], reshape(x[1], {1, 1, 2, 2}), {4, 4})};
       },
       {wave({1, 1, 2, 2}), indices({0, 3, 15, 2}, DType::i32)},
       {{wave({1, 1, 2, 2}), indices({0, 3, 16, 2}, DType::i32)},
        {wave({1, 1, 2, 2}), indices({0, 3, 1, -2}, DType::i32)}}},
      {"steps of a loop",
       [=](const Tensors& x) { return Tensors{loop(x)}; },
       {row, good, zero},
       {{row, high, zero}, {row, low, zero}}},
      {"the gradient of a loop",
       [=](const Tensors& x) {
         return Tensors{grad([&](const Tensor& w) { return loop({w, x[1], x[2]}); })(x[0])};
       },
       {row, good, zero},
       {{row, high, zero}, {row, low, zero}}},
      {"a branch",
       [](const Tensors& x) {
         return Tensors{cond(
             sum(x[2]) > 0.0, [&](const Tensor& t) { return index_select(t, x[1], 0); },
             [&](const Tensor& t) { return slice(t, 0, 0, 4); }, x[0])};
       },
       {row, high, zero},
       {{row, high, 1.0 + zero}}},
      {"a loop that goes on",
       [](const Tensors& x) {
         return Tensors{while_loop([&](const Tensor& u) { return sum(u) < sum(x[1]); },
                                   [](const Tensor& u) { return u + 1.0; }, x[0], {.max_trips = 5})
                            .state};
       },
       {row, row},
       {{row, 1e6 + row}}},
  };
}

TEST(NativeRefusals, CompiledPartsSpeakAsTheExecutor) {
  for (const Refused& r : refused()) {
    SCOPED_TRACE(r.what);
    auto executor = compile(r.f), native = compile(r.f, {.native = true, .native_cache = cache()});
    if (!r.good.empty()) {
      const Tensor wanted = executor(r.good)[0], got = native(r.good)[0];
      EXPECT_EQ(bits(got), bits(wanted));
    }
    for (const Tensors& bad : r.bad) {
      const std::string wanted = refusal([&] { executor(bad); });
      EXPECT_NE(wanted, "taken");
      EXPECT_EQ(refusal([&] { native(bad); }), wanted);
    }
  }
}

TEST(NativeRefusals, FilesThrowTheExecutorsWords) {
  for (const Refused& r : refused()) {
    SCOPED_TRACE(r.what);
    auto executor = compile(r.f, {.makers = false});
    for (const Tensors& bad : r.bad) {
      Emitted file(executor.plan_for(bad));
      EXPECT_NE(file.text().find("// Throws std::runtime_error for data"), std::string::npos);
      EXPECT_EQ(words_of(refusal([&] { file.run(bad); })), words_of(refusal([&] { executor(bad); })));
      if (!r.good.empty()) file.run(r.good);
    }
  }
}

TEST(NativeRefusals, WhatCannotRefuseThrowsNothing) {
  auto f = compile([](const Tensors& x) { return Tensors{sum(square(x[0]))}; });
  const std::string text = f.plan_for(Tensors{wave({10})}).emitted();
  EXPECT_EQ(text.find("throw"), std::string::npos);
  EXPECT_EQ(text.find("Throws"), std::string::npos);
}

// Indices that only the steps of a loop know, along one axis, so that compiled code looks them up; a count that nothing has to wait for.
Tensors step(const Tensors& s, const Tensors& args) {
  const Tensor count = s[0] + 2.5;
  const Tensor last = scan(
      4, args[1],
      [&](const Tensor& h, const Tensor& i) {
        return tanh(h) + sum(index_select(s[1], reshape(i + i, {1}), 0));
      },
      args[0]);
  return {count, s[1] + 0.1 * last / count};
}
Tensors fresh() { return {full({}, 0.0), wave({10})}; }
const Tensors kGood{indices({1, 2, 4, 0}), wave({})};
const std::vector<Tensors> kBad{{indices({1, 2, 5, 3}), wave({})}, {indices({1, -1, 2, 3}), wave({})}};

TEST(NativeRefusals, CompiledPartsLeaveState) {
  auto plain = compile(step, {.state = 1});
  auto f = compile(step, {.state = 1, .native = true, .native_cache = cache()});
  Tensors wanted = fresh(), s = fresh();
  for (int i = 0; i < 2; ++i) wanted = plain(std::move(wanted), kGood);
  s = f(std::move(s), kGood);
  for (const Tensors& bad : kBad) {
    const std::vector<std::byte> before[]{bits(s[0]), bits(s[1])};
    const std::string words = refusal([&] { s = f(std::move(s), bad); });
    EXPECT_EQ(words.find("[index_select] index "), 0u) << words;
    EXPECT_EQ(words.find("behind the update"), std::string::npos) << words;
    EXPECT_EQ(bits(s[0]), before[0]);
    EXPECT_EQ(bits(s[1]), before[1]);
  }
  s = f(std::move(s), kGood);
  EXPECT_EQ(bits(s[0]), bits(wanted[0]));
  EXPECT_EQ(bits(s[1]), bits(wanted[1]));
}

TEST(NativeRefusals, FilesLeaveState) {
  auto f = compile(step, {.state = 1, .makers = false});
  Emitted file(f.plan_for(fresh(), kGood));
  const Tensors s = fresh();
  file.run({s[0], s[1], kGood[0], kGood[1]});
  for (const Tensors& bad : kBad) {
    const std::vector<std::byte> before[]{bits(s[0]), bits(s[1])};
    EXPECT_NE(refusal([&] { file.run({s[0], s[1], bad[0], bad[1]}); }), "taken");
    EXPECT_EQ(bits(s[0]), before[0]);
    EXPECT_EQ(bits(s[1]), before[1]);
  }
}

// Updates that compiled parts made are named by what is refused behind them, wherever that runs.
TEST(NativeRefusals, UpdatesBeforeARefusalAreNamed) {
  for (const Shape& shape : {Shape{10}, Shape{10, 3}}) {
    const auto late = [](const Tensors& s, const Tensors& args) {
      const Tensor count = name(s[0] + std::int64_t{1}, "count");
      return std::pair{Tensors{count}, index_select(args[0], reshape(count, {1}), 0)};
    };
    const auto message = [&](const CompileOptions& options) {
      auto f = compile(late, options);
      Tensors s{tensor(std::vector<std::int64_t>{9}, {})};
      return refusal([&] { f(std::move(s), Tensors{wave(shape)}); });
    };
    const std::string wanted = message({.state = 1});
    EXPECT_NE(wanted.find("; behind the update of 'count'"), std::string::npos) << wanted;
    EXPECT_EQ(message({.state = 1, .native = true, .native_cache = cache()}), wanted);
  }
}

}  // namespace
}  // namespace tidemark
