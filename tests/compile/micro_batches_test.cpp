// Micro-batches: what a batch in parts draws, which sums are taken beforehand, what is refused. Whole training steps are tried in
// tests/contract/micro_batches_test.cpp.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/micro_batches.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tidemark/compile/compile.h"
#include "tidemark/front/cond.h"
#include "tidemark/front/grad.h"
#include "tidemark/front/scan.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/gather.h"
#include "tidemark/ops/index.h"
#include "tidemark/ops/linalg.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/random.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"
#include "tidemark/plan/cpu_clock.h"

namespace tidemark {
namespace {

TEST(MicroBatches, NameWhoReadsASumOverTheBatch) {
  auto f = compile(
      [](const Tensor& w, const Tensor& x) {
        const Tensor h = matmul(x, w);
        return sum(square(h - mean(h, {0})));
      },
      {.micro_batches = 3});
  try {
    f(full({4, 5}, 1.0), full({6, 4}, 1.0));
    FAIL() << "split";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("sub (micro_batches_test.cpp:"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("what sum (micro_batches_test.cpp:"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("cut were f32(6,4)"), std::string::npos) << e.what();
  }
}

TEST(MicroBatches, SumsOfTheBatchAloneAreTakenBeforehand) {
  const auto weighted = [](const Tensor& w, const Tensor& x, const Tensor& weights) {
    const Tensor h = tanh(matmul(x, w));
    return sum(sum(square(h), {1}) * weights) / sum(weights);
  };
  std::vector<float> data(48);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 7) - 3;
  const Tensor x = tensor(data, {12, 4}),
               w = tensor(std::vector<float>(data.begin(), data.begin() + 12), {4, 3});
  const Tensor weights = tensor(std::vector<float>(data.begin() + 4, data.begin() + 16), {12});
  const float whole = compile(weighted)(w, x, weights).item<float>();
  EXPECT_NEAR(compile(weighted, {.micro_batches = 4})(w, x, weights).item<float>(), whole,
              1e-5 * std::abs(whole));
}

TEST(MicroBatches, DrawForEachSampleWhatTheWholeDraws) {
  const auto noisy = [](const Tensor& x, const Tensor& key) {
    const Tensor y = dropout(x, 0.3, key) + random_normal(key, x.shape());
    // Cut along another axis than the first.
    return std::pair(y, dropout(permute(y, {1, 0, 2}), 0.5, key) * random_uniform(key, {5, 12, 7}));
  };
  const Tensor x = full({12, 5, 7}, 1.0), key = tensor(std::vector<std::int64_t>{7, 3}, {2});
  const auto whole = compile(noisy)(x, key), parts = compile(noisy, {.micro_batches = 4})(x, key);
  const auto bits = [](const Tensor& t) {
    return std::vector<float>(t.data<float>().begin(), t.data<float>().end());
  };
  EXPECT_EQ(bits(parts.first), bits(whole.first));
  EXPECT_EQ(bits(parts.second), bits(whole.second));
}

TEST(MicroBatches, NoArrayAsLongAsTheBatchIsMadeToBeCut) {
  auto f = compile(
      value_and_grad([](const Tensor& w, const Tensor& x) { return mean(square(relu(matmul(x, w)))); }),
      {.micro_batches = 4});
  const Graph& g = f.plan_for(full({8, 64}, 0.1), full({400, 8}, 0.5)).graph();
  for (const Value& v : g.values) {
    const bool input =
        std::any_of(g.inputs.begin(), g.inputs.end(), [&](ValueId i) { return &g.value(i) == &v; });
    EXPECT_TRUE(input || v.type.shape.rank() < 2 || v.type.shape[0] != 400)
        << to_string(v.type) << " " << v.name;
  }
}

TEST(MicroBatches, APatternNamesAllPartsOrOne) {
  const auto f = [](const Tensor& w, const Tensor& x) {
    const Tensor h = name(tanh(matmul(x, w)), "h");
    return mean(square(matmul(h, w)));
  };
  auto g = compile(value_and_grad(f), {.memory = 1.0, .pins = {{"h", keep}}, .micro_batches = 2});
  const Compiled& c = g.plan_for(full({32, 32}, 0.1), full({64, 32}, 0.5));
  const std::string all = c.explain("h"), one = c.explain("h@2");
  EXPECT_NE(all.find("h@1"), std::string::npos) << all;
  EXPECT_NE(all.find("h@2"), std::string::npos) << all;
  EXPECT_EQ(one.find("h@1"), std::string::npos) << one;
}

// A weight in front of the batch that is as long as it.
TEST(MicroBatches, AreOfTheBatchAlone) {
  const auto f = [](const Tensor& w, const Tensor& x, const Tensor& y) {
    return mean(square(matmul(x, w) - y));
  };
  const Tensor w = full({8, 8}, 0.25), x = full({8, 8}, 0.5), y = full({8, 8}, 1.5);
  const float whole = compile(f)(w, x, y).item<float>();
  EXPECT_FLOAT_EQ(compile(f, {.micro_batches = 4})(w, x, y).item<float>(), whole);
  // Named, also where it stands first.
  const auto g = [&](const Tensor& batch, const Tensor& weight) {
    return mean(square(matmul(batch, weight)));
  };
  auto named = compile(g, {.micro_batches = {4, {0}}});
  EXPECT_FLOAT_EQ(named(x, full({8, 3}, 0.25)).item<float>(),
                  compile(g)(x, full({8, 3}, 0.25)).item<float>());
  EXPECT_EQ(named.plan_for(x, full({8, 3}, 0.25)).micro_batches(), 4);
  const auto refused = [&](MicroBatches how, Error::Kind kind, const char* words) {
    try {
      compile(f, {.micro_batches = std::move(how)})(w, x, y);
      ADD_FAILURE() << "split";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), kind) << e.what();
      EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    }
  };
  refused({4, {3}}, Error::Kind::usage, "argument 3 vs 3 arguments");
}

// Time first, and all steps as rows of one matrix: the batch is in stretches of its rows.
TEST(MicroBatches, CutTheStepsOfALoopThatIsWrittenOut) {
  constexpr std::int64_t kSteps = 3, kBatch = 8, kWide = 5;
  const auto f = [](const Tensor& w, const Tensor& rows, const Tensor& x) {
    const Tensor all = matmul(reshape(permute(x, {1, 0, 2}), {kSteps * kBatch, kWide}), w) * rows;
    const Tensors steps = split(all, static_cast<int>(kSteps), 0);
    Tensors states;
    Tensor state = slice(all, 0, kBatch, 2 * kBatch);
    for (const Tensor& step : steps) states.push_back(state = tanh(state + step));
    const Tensor last = concat(states, 0);
    return std::tuple(all, reshape(last, {kSteps, kBatch, kWide}), sum(square(last)));
  };
  const auto counted = [](const Shape& shape, int salt) {
    std::vector<float> data(static_cast<std::size_t>(shape.numel()));
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(salt)) % 11) / 8 - 0.5f;
    return tensor(data, shape);
  };
  const Tensor w = counted({kWide, kWide}, 1), rows = counted({kSteps * kBatch, 1}, 2),
               x = counted({kBatch, kSteps, kWide}, 3);
  const auto whole = compile(f)(w, rows, x);
  auto split_up = compile(f, {.micro_batches = 4});
  const auto parts = split_up(w, rows, x);
  EXPECT_EQ(split_up.plan_for(w, rows, x).micro_batches(), 4);
  const auto near = [](const Tensor& a, const Tensor& b) {
    ASSERT_EQ(a.shape(), b.shape());
    for (std::int64_t i = 0; i < a.numel(); ++i)
      ASSERT_NEAR(a.data<float>()[static_cast<std::size_t>(i)], b.data<float>()[static_cast<std::size_t>(i)],
                  1e-5)
          << i;
  };
  near(std::get<0>(parts), std::get<0>(whole));
  near(std::get<1>(parts), std::get<1>(whole));
  near(std::get<2>(parts), std::get<2>(whole));
}

Tensor ramp(const Shape& shape, int salt) {
  std::vector<float> data(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(salt)) % 23) / 16 - 0.6f;
  return tensor(data, shape);
}

// A recurrent net: its state starts out the same for all samples, its weights are invariants, and the adjoint adds up their gradients.
Tensor recurrent_loss(const std::pair<Tensor, Tensor>& w, const Tensor& x, const Tensor& y) {
  const auto [h, all] = scan(
      12, full({8, 40}, 0.0),
      [&](const Tensor& state, const Tensor& xt) {
        const Tensor next = tanh(matmul(state, w.first) + matmul(xt, w.second));
        return std::pair(next, square(next));
      },
      permute(x, {1, 0, 2}));
  return mean(square(h - y)) + 0.1 * mean(all);
}

TEST(MicroBatches, CutLoops) {
  const std::pair w(0.2 * ramp({40, 40}, 1), ramp({3, 40}, 2));
  const Tensor x = ramp({8, 12, 3}, 3), y = ramp({8, 40}, 4);
  const auto whole = compile(value_and_grad(recurrent_loss))(w, x, y);
  auto split_up = compile(value_and_grad(recurrent_loss), {.micro_batches = 4});
  const auto parts = split_up(w, x, y);
  EXPECT_EQ(split_up.plan_for(w, x, y).micro_batches(), 4);
  const auto bits = [](const auto& r) {
    std::vector<float> all{r.value.template item<float>()};
    for (const Tensor& t : {r.grad.first, r.grad.second})
      all.insert(all.end(), t.data<float>().begin(), t.data<float>().end());
    return all;
  };
  const std::vector<float> a = bits(parts), b = bits(whole);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5) << i;
  // No array of the loops is as long as the batch.
  for (const Node& n : split_up.plan_for(w, x, y).graph().nodes) {
    for (const Graph& region : n.regions) {
      for (const Value& v : region.values)
        EXPECT_TRUE(v.type.shape.rank() == 0 || v.type.shape[0] != 8) << to_string(v.type);
    }
  }
  // Whatever the budget, the bits of the same parts with everything kept.
  const Bytes all = split_up.plan_for(w, x, y).peak_predicted();
  auto least = compile(value_and_grad(recurrent_loss),
                       {.memory = Budget::minimum(), .time_limit = 0.3, .micro_batches = 4});
  EXPECT_EQ(bits(least(w, x, y)), a);
  const Bytes peak = least.plan_for(w, x, y).peak_predicted();
  EXPECT_LT(peak, all);
  auto between = compile(value_and_grad(recurrent_loss),
                         {.memory = (peak + all) / 2, .time_limit = 0.3, .micro_batches = 4});
  EXPECT_EQ(bits(between(w, x, y)), a);
}

TEST(MicroBatches, CutLoopsInLoops) {
  // The inner loop reads a value of the outer's that is cut along its second axis; a whole count goes along.
  const auto f = [](const Tensor& w, const Tensor& x) {
    const auto step = [&](const std::pair<Tensor, Tensor>& s) {
      const Tensor inner = scan(2, s.first, [&](const Tensor& u) { return tanh(matmul(w, u)) * s.second; });
      return std::pair(inner, s.second * 0.5);
    };
    const auto [last, factor] = scan(3, std::pair(permute(x, {1, 0}), full({}, 1.0)), step);
    return sum(square(last)) * factor;
  };
  const Tensor w = ramp({3, 3}, 5), x = ramp({8, 3}, 6);
  const auto whole = compile(value_and_grad(f))(w, x);
  const auto parts = compile(value_and_grad(f), {.micro_batches = 2})(w, x);
  EXPECT_NEAR(parts.value.item<float>(), whole.value.item<float>(), 1e-5);
  for (std::size_t i = 0; i < 9; ++i)
    EXPECT_NEAR(parts.grad.data<float>()[i], whole.grad.data<float>()[i], 1e-5) << i;
}

TEST(MicroBatches, CutLoopsWhoseLengthIsTheSameForAll) {
  const auto f = [](const Tensor& w, const Tensor& x) {
    const auto last = while_loop([](const std::pair<Tensor, Tensor>& s) { return s.second < 5.0; },
                                 [&](const std::pair<Tensor, Tensor>& s) {
                                   return std::pair(tanh(matmul(s.first, w)), s.second + 2.0);
                                 },
                                 std::pair(x, full({}, 0.0)), {.max_trips = 6});
    return mean(square(last.state.first));
  };
  const Tensor w = ramp({3, 3}, 5), x = ramp({8, 3}, 6);
  const auto whole = compile(value_and_grad(f))(w, x);
  auto split_up = compile(value_and_grad(f), {.micro_batches = 4});
  const auto parts = split_up(w, x);
  EXPECT_EQ(split_up.plan_for(w, x).micro_batches(), 4);
  EXPECT_NEAR(parts.value.item<float>(), whole.value.item<float>(), 1e-6);
  for (std::size_t i = 0; i < 9; ++i)
    EXPECT_NEAR(parts.grad.data<float>()[i], whole.grad.data<float>()[i], 1e-6) << i;
  const auto coupled = [](const Tensor& x) {
    return sum(while_loop([](const Tensor& s) { return sum(s) < 100.0; },
                          [](const Tensor& s) { return s * 2.0; }, x, {.max_trips = 9})
                   .state);
  };
  try {
    compile(coupled, {.micro_batches = 4})(full({8, 3}, 1.0));
    FAIL() << "split";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("samples are coupled: less"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("(in while_loop (micro_batches_test.cpp:"), std::string::npos)
        << e.what();
  }
}

// One branch reads a weight that the other does not, gives back its argument, or makes something that is the same for all samples.
TEST(MicroBatches, CutBranches) {
  using Pair = std::pair<Tensor, Tensor>;
  const auto f = [](const Pair& w, const Tensor& on, const Tensor& x) {
    const Tensor h = cond(on > 0.0, [&](const Tensor& u) { return tanh(matmul(u, w.first)); }, [&](const Tensor& u) { return u * w.second; }, x);
    const auto step = [&](const Tensor& s) {
      return cond(on < 0.0, [&](const Tensor& u) { return u; }, [&](const Tensor& u) { return sin(matmul(u, w.first)) + w.second; }, s);
    };
    const Tensor y = scan(2, h, step);
    const Tensor shift = cond(on > 0.0, [&](const Tensor& u) { return broadcast_to(w.second, u.shape()); }, [](const Tensor& u) { return 0.5 * u; }, y);
    return mean(square(y + shift));
  };
  const Pair w(ramp({3, 3}, 5), ramp({3}, 2));
  const Tensor x = ramp({8, 3}, 6);
  for (const double on : {1.0, -1.0}) {
    const Tensor flag = full({}, on);
    const auto whole = compile(value_and_grad(f))(w, flag, x);
    CompileOptions options{.micro_batches = {4, {2}}};
    auto split_up = compile(value_and_grad(f), options);
    const auto parts = split_up(w, flag, x);
    EXPECT_EQ(split_up.plan_for(w, flag, x).micro_batches(), 4);
    EXPECT_NEAR(parts.value.item<float>(), whole.value.item<float>(), 1e-6);
    for (const auto& [a, b] : {Pair(parts.grad.first, whole.grad.first), Pair(parts.grad.second, whole.grad.second)}) {
      for (std::size_t i = 0; i < a.data<float>().size(); ++i) EXPECT_NEAR(a.data<float>()[i], b.data<float>()[i], 1e-6) << on << " " << i;
    }
    options.memory = Budget::minimum();
    options.time_limit = 0.2;
    const auto least = compile(value_and_grad(f), options)(w, flag, x);
    for (const auto& [a, b] : {Pair(least.grad.first, parts.grad.first), Pair(least.grad.second, parts.grad.second)})
      EXPECT_TRUE(std::equal(a.data<float>().begin(), a.data<float>().end(), b.data<float>().begin())) << on;
  }
}

// What two parts of a batch are refused with.
std::string refused(const auto& f) {
  try {
    compile(f, {.micro_batches = 2})(ramp({4, 3}, 1));
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::unsupported);
    return e.what();
  }
  return "";
}

TEST(MicroBatches, BranchesThatCoupleSamplesAreRefusedWithTheirLine) {
  const auto same = [](const Tensor& u) { return u; };
  const std::string inside = refused([&](const Tensor& x) { return sum(cond(full({}, 1.0) > 0.0, same, [](const Tensor& u) { return u - mean(u, {0}); }, x)); });
  EXPECT_NE(inside.find("(in cond (micro_batches_test.cpp:"), std::string::npos) << inside;
  const std::string unlike = refused([](const Tensor& x) {
    return sum(cond(full({}, 1.0) > 0.0, [](const Tensor& u) { return sum(u, {0}) * ones({4, 1}); }, [](const Tensor& u) { return u; }, x));
  });
  EXPECT_NE(unlike.find("cond (micro_batches_test.cpp:"), std::string::npos) << unlike;
}

// Each of them treats its samples apart, and what is equal to the whole has to be cut as it.
TEST(MicroBatches, CutOpsThatLookAtOtherAxes) {
  const auto near = [](const char* what, const auto& f) {
    const Tensor w = ramp({6, 6}, 5), x = ramp({8, 4, 6}, 6);
    const auto whole = compile(value_and_grad(f))(w, x);
    auto split_up = compile(value_and_grad(f), {.micro_batches = {4, {1}}});
    const auto parts = split_up(w, x);
    EXPECT_EQ(split_up.plan_for(w, x).micro_batches(), 4) << what;
    EXPECT_NEAR(parts.value.template item<float>(), whole.value.template item<float>(), 1e-5) << what;
    for (std::size_t i = 0; i < 36; ++i)
      EXPECT_NEAR(parts.grad.template data<float>()[i], whole.grad.template data<float>()[i], 1e-5)
          << what << " " << i;
  };
  near("sort",
       [](const Tensor& w, const Tensor& x) { return mean(square(sort(tanh(matmul(x, w))).values * x)); });
  near("sort along another axis",
       [](const Tensor& w, const Tensor& x) { return mean(square(sort(matmul(x, w), 1).values * x)); });
  near("top_k", [](const Tensor& w, const Tensor& x) { return mean(square(top_k(matmul(x, w), 3).values)); });
  near("fft", [](const Tensor& w, const Tensor& x) {
    const Complex q = rfft(matmul(x, w));
    return mean(square(irfft({0.5 * q.re, q.im}, 6)));
  });
  near("slices", [](const Tensor& w, const Tensor& x) {
    Tensor y = matmul(x, w);
    y(all, Slice{1, 3}) = tanh(x)(all, Slice{0, 2});
    y(all, 0) += 0.3;
    y(all, 3) = 0.2;
    y(all, all, Slice{0, {}, 2}) = x(all, all, Slice{1, {}, 2}) * y(all, all, Slice{0, {}, 2});
    return mean(square(y));
  });
  const auto matrices = [](const Tensor& w, const Tensor& x) {
    const Tensor u = matmul(x, w);
    return matmul(u, transpose(u)) + 3.0 * one_hot(iota_beside(x, 4, DType::i64), 4);
  };
  near("solve", [&](const Tensor& w, const Tensor& x) { return mean(square(solve(matrices(w, x), x))); });
  near("cholesky", [&](const Tensor& w, const Tensor& x) { return mean(square(cholesky(matrices(w, x)))); });
  near("call", [](const Tensor& w, const Tensor& x) {
    const auto block = [&](const Tensor& t) { return tanh(matmul(t, w)); };
    const Tensor y = call(
        "block", [&](const Tensor& t) { return x + call("inner", block, t); }, x);
    return mean(square(scan(2, y, [&](const Tensor& s) { return call("step", block, s); })));
  });
}

TEST(MicroBatches, OpsAlongTheAxisOfSamplesAreRefusedWithTheirLine) {
  const std::string sorted = refused([](const Tensor& x) { return sum(sort(x, 0).values * x); });
  EXPECT_NE(sorted.find("samples are coupled: sort (micro_batches_test.cpp:"), std::string::npos) << sorted;
  const std::string written = refused([](const Tensor& x) {
    Tensor y = tanh(x);
    y[Slice{0, 2}] = 0.5;
    return sum(y);
  });
  EXPECT_NE(written.find("samples are coupled: update_slice (micro_batches_test.cpp:"), std::string::npos)
      << written;
  const std::string inside = refused([](const Tensor& x) {
    return sum(call(
        "block", [](const Tensor& t) { return cumsum(t, 0); }, x));
  });
  EXPECT_NE(inside.find("samples are coupled: cumsum (micro_batches_test.cpp:"), std::string::npos) << inside;
}

TEST(MicroBatches, DrawInLoopsWhatTheWholeDraws) {
  const auto f = [](const Tensor& x, const Tensor& key) {
    return scan(3, x, [&](const Tensor& s) { return dropout(s, 0.3, key) + 0.5 * s; });
  };
  const Tensor x = ramp({12, 5}, 7), key = tensor(std::vector<std::int64_t>{7, 3}, {2});
  const Tensor whole = compile(f)(x, key), parts = compile(f, {.micro_batches = 3})(x, key);
  for (std::size_t i = 0; i < 60; ++i) EXPECT_EQ(parts.data<float>()[i], whole.data<float>()[i]) << i;
}

TEST(MicroBatches, ALoopThatCouplesSamplesIsRefusedWithItsLine) {
  const auto refused = [](const auto& f, std::initializer_list<const char*> words) {
    try {
      compile(f, {.micro_batches = 2})(ramp({4, 3}, 1));
      ADD_FAILURE() << "split";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::unsupported);
      for (const char* w : words) EXPECT_NE(std::string(e.what()).find(w), std::string::npos) << e.what();
    }
  };
  refused([](const Tensor& x) { return sum(scan(3, x, [](const Tensor& s) { return s - mean(s, {0}); })); },
          {"reads what sum (micro_batches_test.cpp:", "(in scan (micro_batches_test.cpp:"});
  refused(
      [](const Tensor& x) {
        return sum(scan(
            4, full({3}, 0.0), [](const Tensor& s, const Tensor& row) { return s + row; }, x));
      },
      {"they are the steps of scan (micro_batches_test.cpp:"});
  refused(
      [](const Tensor& x) {
        return sum(scan(3, std::pair(x, full({3}, 0.0)), [](const std::pair<Tensor, Tensor>& s) {
                     return std::pair(s.first * 0.5, tanh(s.second + sum(s.first, {0})));
                   }).second);
      },
      {"samples are coupled: tanh (micro_batches_test.cpp:", "reads what sum (micro_batches_test.cpp:"});
  refused(
      [](const Tensor& x) {
        return sum(scan(3, matmul(x, full({3, 4}, 0.5)), [](const Tensor& s) { return permute(s, {1, 0}); }));
      },
      {"scan (micro_batches_test.cpp:", "its state 0 is cut along axis 0 vs cut along axis 1"});
}

TEST(MicroBatches, NeedABatchThatDivides) {
  const auto f = [](const Tensor& x) { return sum(x); };
  EXPECT_THROW(compile(f, {.micro_batches = 4})(full({10, 3}, 1.0)), Error);
  EXPECT_THROW(compile(f, {.micro_batches = -2})(full({10, 3}, 1.0)), Error);
  EXPECT_THROW(compile(f, {.micro_batches = 2})(full({}, 1.0)), Error);
}

// As many parts as samples are no program that could be planned: what cannot fit is refused before, and soon.
TEST(MicroBatches, ManySamplesAreRefusedSoon) {
  const auto f = [](const Tensor& w, const Tensor& x) {
    Tensor h = x;
    for (int i = 0; i < 3; ++i) h = tanh(matmul(h, w));
    return mean(square(h));
  };
  const Tensor w = full({4, 4}, 0.1);
  const std::int64_t samples = 1 << 20;
  const double begun = plan::cpu_seconds();
  const Bytes resident = samples * 16 + 64;
  for (const Bytes budget : {Bytes{1000}, resident + 256}) {
    auto g = compile(value_and_grad(f), {.memory = budget,
                                         .device = cpu({.threads = 1}),
                                         .time_limit = 0.02,
                                         .micro_batches = may_split,
                                         .correct = false});
    EXPECT_THROW(g.plan_for(w, abstract({{samples, 4}, DType::f32})), Error);
  }
  EXPECT_LT(plan::cpu_seconds() - begun, 30);
}

}  // namespace
}  // namespace tidemark
