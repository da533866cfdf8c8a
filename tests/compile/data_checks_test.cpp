// Data that a step refuses: its state is as before, bit for bit, wherever in the step the data is met.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tidemark/compile/compile.h"
#include "tidemark/front/cond.h"
#include "tidemark/front/grad.h"
#include "tidemark/front/scan.h"
#include "tidemark/ops/conv.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/gather.h"
#include "tidemark/ops/linalg.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/norm.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

using Bits = std::vector<std::vector<std::byte>>;

Bits bits(const Tensors& state) {
  Bits all;
  for (const Tensor& t : state) {
    const std::byte* data = t.storage()->data();
    all.emplace_back(data, data + t.type().bytes());
  }
  return all;
}

Tensor wave(const Shape& shape, double rate) {
  return cast(reshape(sin(cast(arange(shape.numel()), DType::f64) * rate), shape.sizes()), DType::f32) * 0.3;
}
Tensor indices(std::vector<std::int64_t> i) {
  const Shape shape{static_cast<std::int64_t>(i.size())};
  return tensor(i, shape);
}

// `step(state, args)` gives the next state; the bad arguments are refused, and the good ones go on as if they had never come.
template <typename F>
void expect_untouched(F step, const std::function<Tensors()>& fresh, const Tensors& good,
                      const std::vector<Tensors>& bad, const CompileOptions& given = {}) {
  CompileOptions options = given;
  options.state = 1;
  options.time_limit = 0.1;
  auto plain = compile(step, {.state = 1});
  auto f = compile(step, options);
  Tensors wanted = fresh(), s = fresh();
  for (int i = 0; i < 2; ++i) wanted = plain(std::move(wanted), good);
  s = f(std::move(s), good);
  const Bits before = bits(s);
  for (const Tensors& args : bad) {
    try {
      s = f(std::move(s), args);
      ADD_FAILURE() << "taken";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::data) << e.what();
      EXPECT_EQ(std::string(e.what()).find("behind the update"), std::string::npos) << e.what();
    }
    EXPECT_TRUE(bits(s) == before);
  }
  s = f(std::move(s), good);
  EXPECT_TRUE(bits(s) == bits(wanted));
}

std::size_t checks(const plan::Problem& p) {
  return static_cast<std::size_t>(
      std::count_if(p.tasks.begin(), p.tasks.end(), [](const plan::Task& t) { return t.kind == "check"; }));
}

// A count that nothing has to wait for, running means that the forward pass gives, parameters.
Tensors fresh_net() { return {full({}, 0.0), full({8}, 0.0), wave({10, 8}, 0.7), wave({8, 5}, 0.31)}; }
Tensors train(const Tensors& s, const Tensors& args) {
  const Tensor count = s[0] + 2.5;  // first in the program
  const auto loss = [&](const Tensors& p) {
    const Tensor h = name(tanh(embedding(p[0], args[0])), "h");
    return cross_entropy(matmul(h, p[1]), args[1]);
  };
  const auto [value, g] = value_and_grad(loss)(Tensors{s[2], s[3]});
  return {count, 0.9 * s[1] + 0.1 * mean(tanh(embedding(s[2], args[0])), {0}), s[2] - 0.1 * g[0] / count,
          s[3] - 0.1 * g[1]};
}
const Tensors kGood{indices({1, 2, 9, 0, 3, 3}), indices({0, 1, 4, 2, 2, 3})};
const std::vector<Tensors> kBad{{indices({1, 2, 9, 0, 3, 10}), kGood[1]},
                                {indices({-1, 2, 9, 0, 3, 3}), kGood[1]},
                                {kGood[0], indices({0, 1, 4, 2, 2, 5})},
                                {kGood[0], indices({0, 1, 4, -2, 2, 5})}};

TEST(DataChecks, IndicesBehindUpdates) {
  expect_untouched(train, fresh_net, kGood, kBad);
  expect_untouched(train, fresh_net, kGood, kBad, {.memory = Budget::minimum()});
}

TEST(DataChecks, IndicesBehindUpdatesWithTiers) {
  for (TierSpec tier : {host(1_MiB), disk(TIDEMARK_BINARY_DIR, 1_MiB)}) {
    tier.write_bytes_per_second = tier.read_bytes_per_second = 1e12;
    tier.latency_seconds = 0;
    expect_untouched(train, fresh_net, kGood, kBad, {.memory = Budget::minimum(), .tiers = {tier}});
  }
}

TEST(DataChecks, TheMessageIsTheOpsOwn) {
  auto f = compile(train, {.state = 1});
  Tensors s = fresh_net();
  const auto message = [&](const Tensors& args) -> std::string {
    try {
      s = f(std::move(s), args);
    } catch (const Error& e) {
      return e.what();
    }
    return "taken";
  };
  EXPECT_EQ(message(kBad[0]).find("[embedding] index 10 vs table of 10 rows"), 0u) << message(kBad[0]);
  EXPECT_EQ(message(kBad[2]).find("[cross_entropy] label 5 of row 5 vs 5 classes"), 0u) << message(kBad[2]);
}

TEST(DataChecks, EmittedFilesHaveThem) {
  const auto step = [](const Tensors& s, const Tensors& args) {
    const Tensor count = s[0] + 2.5;
    return Tensors{count, s[1] + sum(embedding(args[1], args[0]), {0})};
  };
  auto f = compile(step, {.state = 1});
  const Tensors state{full({}, 0.0), full({8}, 0.1)};
  const Compiled& c = f.plan_for(state, Tensors{kGood[0], wave({10, 8}, 0.7)});
  ASSERT_EQ(checks(c.problem()), 1u);
  const std::string text = c.emitted(), check = "updates wait until it was accepted";
  const std::size_t at = text.find(check);
  ASSERT_NE(at, std::string::npos);
  EXPECT_NE(text.substr(at, 200).find("bad_index("), std::string::npos);
}

TEST(DataChecks, WithoutAtomicStepsUpdatesMayHaveRun) {
  auto f = compile(train, {.state = 1, .atomic = false});
  for (const plan::Task& t : f.plan_for(fresh_net(), kGood).problem().tasks) EXPECT_NE(t.kind, "check");
  Tensors s = fresh_net();
  try {
    s = f(std::move(s), kBad[2]);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("; behind the update"), std::string::npos) << e.what();
  }
}

TEST(DataChecks, WhatIsUpdatedByIndex) {
  // The update itself is what refuses: in place, and where nobody reads the old version.
  const auto step = [](const Tensors& s, const Tensors& args) {
    return Tensors{scatter_add(s[0], args[0], full({6}, 1.0), 0), embedding(args[1], args[0])};
  };
  const auto fresh = [] { return Tensors{full({10}, 0.0), full({6, 8}, 0.0)}; };
  const Tensor table = wave({10, 8}, 0.7);
  expect_untouched(step, fresh, {kGood[0], table}, {{kBad[0][0], table}, {kBad[1][0], table}});
}

TEST(DataChecks, WhatIsNoIndex) {
  const auto step = [](const Tensors& s, const Tensors& args) {
    const Tensor count = s[0] + 2.5;
    const Tensor l = cholesky(args[0]);
    return Tensors{count, triangular_solve(l, s[1]), sum(l)};
  };
  const auto fresh = [] { return Tensors{full({}, 0.0), wave({3, 2}, 0.7), full({}, 0.0)}; };
  const Tensor good = tensor(std::vector<float>{4, 1, 0, 1, 3, 0, 0, 0, 2}, {3, 3});
  const Tensor bad = tensor(std::vector<float>{4, 1, 0, 1, 3, 0, 0, 0, -2}, {3, 3});
  expect_untouched(step, fresh, {good}, {{bad}});
  expect_untouched(step, fresh, {good}, {{bad}}, {.memory = Budget::minimum()});
}

// Six steps, each of which looks a row up.
Tensor looked_up_in_steps(const Tensor& table, const Tensor& rows) {
  return scan(
      6, full({8}, 0.1),
      [&](const Tensor& h, const Tensor& i) { return tanh(embedding(table, i) + 0.5 * h); }, rows);
}

TEST(DataChecks, Loops) {
  // The count waits for no gradient.
  const auto step = [](const Tensors& s, const Tensors& args) {
    const Tensor count = s[0] + 2.5;
    const auto loss = [&](const Tensors& p) {
      const Tensor last = looked_up_in_steps(p[0], args[0]);
      return sum(square(last));
    };
    const auto [value, g] = value_and_grad(loss)(Tensors{s[1]});
    return Tensors{count, s[1] - 0.1 * g[0]};
  };
  const auto fresh = [] { return Tensors{full({}, 0.0), wave({10, 8}, 0.7)}; };
  expect_untouched(step, fresh, {kGood[0]}, {{kBad[0][0]}, {kBad[1][0]}});
  expect_untouched(step, fresh, {kGood[0]}, {{kBad[0][0]}, {kBad[1][0]}}, {.memory = Budget::minimum()});
}

TEST(DataChecks, LoopsOfUnknownLengthAndBranches) {
  const auto step = [](const Tensors& s, const Tensors& args) {
    const Tensor count = s[0] + 2.5;
    const auto loss = [&](const Tensors& p) {
      const auto last =
          while_loop([&](const Tensor& u) { return sum(u) < args[0]; },
                     [&](const Tensor& u) { return u + square(p[0]) + 0.1; }, p[0], {.max_trips = 20});
      const Tensor row = cond(
          args[0] > 5.0, [&](const Tensor& t) { return embedding(t, args[1]); },
          [&](const Tensor& t) { return slice(t, 0, 0, 6); }, p[1]);
      return sum(last.state) + sum(square(row));
    };
    const auto [value, g] = value_and_grad(loss)(Tensors{s[1], s[2]});
    return Tensors{count, s[1] - 0.001 * g[0], s[2] - 0.1 * g[1]};
  };
  const auto fresh = [] { return Tensors{full({}, 0.0), full({4}, 0.2), wave({10, 8}, 0.7)}; };
  const Tensor near = full({}, 6.0), far = full({}, 1e6), little = full({}, 2.0);
  expect_untouched(step, fresh, {near, kGood[0]}, {{far, kGood[0]}, {near, kBad[0][0]}});
  // One for the loop and one for the branches: their adjoints refuse nothing more.
  auto f = compile(step, {.state = 1});
  EXPECT_EQ(checks(f.plan_for(fresh(), Tensors{near, kGood[0]}).problem()), 2u);
  // The branch that is not taken refuses nothing.
  expect_untouched(step, fresh, {little, kBad[0][0]}, {{far, kGood[0]}, {near, kBad[0][0]}});
}

TEST(DataChecks, SlicesThatABranchOfTheirStepLooksAt) {
  // The first loop looks at the indices of steps that take the branch, the second then at all of them.
  const auto step = [](const Tensors& s, const Tensors& args) {
    const Tensor count = s[0] + 2.5;
    const Tensor zero = full({8}, 0.0);
    const Tensor some = scan(
        2, zero,
        [&](const Tensor& h, const Tensors& x) {
          return h + cond(
                         x[0] > 0.0, [&](const Tensor& t) { return embedding(t, x[1]); },
                         [&](const Tensor&) { return zero; }, args[2]);
        },
        Tensors{args[0], args[1]});
    const Tensor all = scan(
        2, zero,
        [&](const Tensor& h, const Tensor& x) {
          return h + cond(
                         x > 0.0, [&](const Tensor& t) { return sum(embedding(t, args[1]), {0}); },
                         [&](const Tensor&) { return zero; }, args[2]);
        },
        args[0]);
    return Tensors{count, s[1] + some, s[2] + all};
  };
  const auto fresh = [&] { return Tensors{full({}, 0.0), full({8}, 0.0), full({8}, 0.0)}; };
  const Tensor first = tensor(std::vector<float>{1, 0}, {2}), none = full({2}, 0.0),
               table = wave({10, 8}, 0.7);
  expect_untouched(step, fresh, {first, indices({3, 4}), table}, {{first, indices({3, 10}), table}});
  expect_untouched(step, fresh, {none, indices({3, 10}), table}, {{first, indices({3, 10}), table}});
}

TEST(DataChecks, WhatIsMadeFromUpdatedStateIsNamed) {
  const auto step = [](const Tensors& s, const Tensors& args) {
    const Tensor count = s[0] + std::int64_t{1};
    return std::pair{Tensors{count}, embedding(args[0], reshape(count, {1}))};
  };
  auto f = compile(step, {.state = 1});
  Tensors s{tensor(std::vector<std::int64_t>{8}, {})};
  const Tensors table{wave({10, 8}, 0.7)};
  s = f(std::move(s), table).first;
  try {
    s = f(std::move(s), table).first;
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("index 10 vs table of 10 rows"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("; behind the update"), std::string::npos) << e.what();
  }
}

TEST(DataChecks, UpdatesFromAcceptedDataWaitForNothing) {
  // Lookups, their adjoints, the loss, pooling with its indices.
  const auto step = [](const Tensors& s, const Tensors& args) {
    const auto loss = [&](const Tensors& p) {
      const Tensor h = tanh(embedding(p[0], args[0]));
      const Tensor image = max_pool2d(reshape(h, {1, 1, 6, 8}), {.kernel = {2, 2}});
      return cross_entropy(matmul(h, p[1]), args[1]) + sum(square(image));
    };
    const auto [value, g] = value_and_grad(loss)(s);
    return Tensors{s[0] - 0.1 * g[0], s[1] - 0.1 * g[1]};
  };
  auto f = compile(step, {.state = 1});
  EXPECT_EQ(checks(f.plan_for(Tensors{wave({10, 8}, 0.7), wave({8, 5}, 0.31)}, kGood).problem()), 0u);
  // With a count two checks of arguments are all; nothing waits for the adjoint of the loop.
  const auto counted = [](const Tensors& s, const Tensors& args) {
    const Tensor count = s[0] + 2.5;
    const auto loss = [&](const Tensors& p) {
      const Tensor last = looked_up_in_steps(p[0], args[0]);
      return cross_entropy(matmul(reshape(last, {1, 8}), p[1]), args[1]);
    };
    const auto [value, g] = value_and_grad(loss)(Tensors{s[1], s[2]});
    return Tensors{count, s[1] - 0.1 * g[0], s[2] - 0.1 * g[1]};
  };
  auto h = compile(counted, {.state = 1});
  const Tensors state{full({}, 0.0), wave({10, 8}, 0.7), wave({8, 5}, 0.31)};
  const Compiled& c = h.plan_for(state, Tensors{kGood[0], indices({2})});
  ASSERT_EQ(checks(c.problem()), 2u);
  for (const plan::Task& t : c.problem().tasks) {
    if (t.kind != "check") continue;
    EXPECT_TRUE(c.problem().buffers[static_cast<std::size_t>(t.reads[0])].resident) << t.name;
  }
}

}  // namespace
}  // namespace tidemark
