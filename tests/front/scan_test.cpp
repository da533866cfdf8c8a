// Loops, branches and calls against the same programs written out: values, gradients, tangents, second derivatives.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/front/scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/front/random_body.h"
#include "tidemark/front/cond.h"
#include "tidemark/front/eager.h"
#include "tidemark/front/grad.h"
#include "tidemark/front/trace.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/index.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/table.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

// Zeros of either sign are equal: a running sum starts from +0, a written-out one from its first term.
void expect_same(const Tensors& a, const Tensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t t = 0; t < a.size(); ++t) {
    ASSERT_EQ(a[t].type(), b[t].type());
    const auto x = a[t].data<double>(), y = b[t].data<double>();
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) << t << "[" << i << "]: " << x[i] << " vs " << y[i];
  }
}
void expect_near(const Tensors& a, const Tensors& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t t = 0; t < a.size(); ++t) {
    const auto x = a[t].data<double>(), y = b[t].data<double>();
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], tolerance * (1 + std::abs(y[i])));
  }
}

struct State {
  Tensor position, speed;
};
struct Params {
  State start;
  Tensor stiffness, force;
};
State oscillate(const State& s, const Tensor& stiffness, const Tensor& force) {
  const Tensor speed = s.speed + 0.1 * (force - stiffness * sin(s.position));
  return {s.position + 0.1 * speed, speed};
}
Params oscillator() {
  return {{tensor<double>({0.3, -1.2, 2.0}, {3}), tensor<double>({0, 0.5, -0.25}, {3})}, tensor<double>({1, 2, 0.5}, {3}),
          tensor<double>({0.1, 0.2, -0.3, 0.4, 0, 0.7, 1, -1, 0.5, 0.2, 0.3, 0.1}, {4, 3})};
}
Tensor looped(const Params& p) {
  const auto r = scan(
      4, p.start, [&](const State& s, const Tensor& f) { return std::pair(oscillate(s, p.stiffness, f), square(s.position)); }, p.force);
  return sum(r.state.position * r.state.speed) + sum(r.ys);
}
Tensor written_out(const Params& p) {
  State s = p.start;
  Tensor energy;
  Tensors ys;
  for (int i = 0; i < 4; ++i) {
    ys.push_back(square(s.position));
    s = oscillate(s, p.stiffness, p.force[i]);
  }
  return sum(s.position * s.speed) + sum(stack(ys, 0));
}

TEST(Scan, IsTheLoopWrittenOut) {
  const Params p = oscillator();
  EXPECT_EQ(looped(p).item<double>(), written_out(p).item<double>());
  expect_same(flatten(grad(looped)(p)), flatten(grad(written_out)(p)));
  const Params d = map_tensors(p, [](const Tensor& t) { return cos(t); });
  expect_same(flatten(jvp(looped, p, d).second), flatten(jvp(written_out, p, d).second));
  expect_near(flatten(hvp(looped, p, d)), flatten(hvp(written_out, p, d)), 1e-13);
}

TEST(Scan, ReverseOverReverse) {
  const Params p = oscillator();
  const auto norm = [](auto f) {
    return [f](const Params& q) {
      Tensor total = zeros_like(sum(q.stiffness));
      for (const Tensor& g : flatten(grad(f)(q))) total = total + sum(square(g));
      return total;
    };
  };
  expect_near(flatten(grad(norm(looped))(p)), flatten(grad(norm(written_out))(p)), 1e-13);
}

TEST(Scan, NoStepsAndOneStep) {
  const Tensor x = tensor<double>({1, 2}, {2});
  for (const int n : {0, 1}) {
    const auto f = [n](const Tensor& s) { return sum(square(scan(n, s, [](const Tensor& t) { return t * 3.0; }))); };
    EXPECT_DOUBLE_EQ(f(x).item<double>(), n == 0 ? 5 : 45);
    EXPECT_DOUBLE_EQ(grad(f)(x).data<double>()[1], n == 0 ? 4 : 36);
  }
}

TEST(Scan, StateThatStaysAndIntegersInTheState) {
  struct Counted {
    Tensor x, rate, step;
  };
  const auto f = [](const Tensor& x, const Tensor& rate) {
    const Counted last = scan(5, Counted{x, rate, tensor<std::int64_t>({0}, {})}, [](const Counted& c) {
      return Counted{c.x * c.rate + cast(c.step, DType::f64), c.rate, c.step + 1};
    });
    EXPECT_EQ(last.step.dtype(), DType::i64);
    return sum(last.x);
  };
  const auto plain = [](const Tensor& x, const Tensor& rate) {
    Tensor y = x;
    for (int i = 0; i < 5; ++i) y = y * rate + static_cast<double>(i);
    return sum(y);
  };
  const Tensor x = tensor<double>({1, -2}, {2}), rate = tensor<double>({0.5, 1.25}, {2});
  EXPECT_EQ(f(x, rate).item<double>(), plain(x, rate).item<double>());
  const auto by_rate = [](auto g) { return [g](const Tensor& r, const Tensor& y) { return g(y, r); }; };
  expect_same({grad(by_rate(f))(rate, x)}, {grad(by_rate(plain))(rate, x)});
}

TEST(Scan, NestsAndPrintsAndParses) {
  const auto f = [](const Tensor& x, const Tensor& w) {
    return sum(scan(3, x, [&](const Tensor& s) { return scan(2, s, [&](const Tensor& t) { return tanh(t * w); }) + x; }));
  };
  const auto plain = [](const Tensor& x, const Tensor& w) {
    Tensor s = x;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 2; ++j) s = tanh(s * w);
      s = s + x;
    }
    return sum(s);
  };
  const Tensor x = tensor<double>({0.1, 0.7}, {2}), w = tensor<double>({1.5, -0.5}, {2});
  expect_same({f(x, w)}, {plain(x, w)});
  expect_near({grad(f)(x, w)}, {grad(plain)(x, w)}, 1e-14);
  const Graph g = trace([&](const Tensor& a, const Tensor& b) { return grad(f)(a, b); }, x, w);
  verify(g);
  const std::string text = print(g);
  EXPECT_NE(text.find("scan("), std::string::npos);
  const Graph again = parse(text, find_op);
  EXPECT_EQ(hash(again), hash(g));
  // Locations are comments and stay behind.
  EXPECT_EQ(print(parse(print(again), find_op)), print(again));
}

TEST(Scan, RandomBodiesAgreeWithTheLoopWrittenOut) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const testing_bodies::RandomLoop loop(seed);
    const auto looped_loss = [&](const Tensors& in) { return loop.loss(in, true); };
    const auto plain_loss = [&](const Tensors& in) { return loop.loss(in, false); };
    const Tensors in = loop.inputs();
    SCOPED_TRACE(seed);
    expect_same({looped_loss(in)}, {plain_loss(in)});
    // A value that goes on as two states has its adjoints added in another order.
    expect_near(grad(looped_loss)(in), grad(plain_loss)(in), 1e-12);
    if (seed % 5 == 0) {
      Tensors d;
      for (const Tensor& t : in) d.push_back(sin(t * 3.0));
      expect_near({jvp(looped_loss, in, d).second}, {jvp(plain_loss, in, d).second}, 1e-13);
      expect_near(hvp(looped_loss, in, d), hvp(plain_loss, in, d), 1e-11);
    }
    if (HasFailure()) break;
  }
}

TEST(Scan, SaysWhatIsWrong) {
  const Tensor x = tensor<double>({1, 2}, {2});
  const auto message = [](const auto& f) {
    try {
      f();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(message([&] { return scan(3, x, [](const Tensor& s) { return sum(s); }); }).find("[scan] the body turns state 0 from f64(2) into f64()"), std::string::npos);
  EXPECT_NE(message([&] { return scan(3, x, [](const Tensor& s, const Tensor& y) { return s + y; }, x); }).find("[scan] xs 0 are f64(2) vs 3 steps"), std::string::npos);
  EXPECT_NE(message([&] { return scan(-1, x, [](const Tensor& s) { return s; }); }).find("[scan] -1 steps"), std::string::npos);
}

TEST(Cond, RunsOneBranchAndDifferentiatesIt) {
  const auto f = [](const Tensor& x) {
    return cond(
        sum(x) > 0.0, [](const Tensor& y) { return sum(square(y)); }, [&](const Tensor& y) { return sum(exp(y) * x); }, x);
  };
  const Tensor up = tensor<double>({1, 2}, {2}), down = tensor<double>({-1, -2}, {2});
  EXPECT_DOUBLE_EQ(f(up).item<double>(), 5);
  expect_same({grad(f)(up)}, {tensor<double>({2, 4}, {2})});
  expect_near({grad(f)(down)}, {exp(down) * down + exp(down)}, 1e-15);
  const Tensor v = tensor<double>({1, 0.5}, {2});
  expect_near({hvp(f, up, v)}, {2.0 * v}, 1e-15);
  EXPECT_DOUBLE_EQ(jvp(f, up, v).second.item<double>(), 4);
}

TEST(WhileLoop, CountsAndDifferentiates) {
  const auto f = [](const Tensor& x) {
    const auto r = while_loop([](const Tensor& s) { return sum(s) < 100.0; }, [](const Tensor& s) { return s * s + 1.0; }, x, {.max_trips = 20});
    return r.state;
  };
  const Tensor x = scalar(1.5);
  const auto r = while_loop([](const Tensor& s) { return s < 100.0; }, [](const Tensor& s) { return s * s + 1.0; }, x);
  EXPECT_EQ(r.trips.item<std::int64_t>(), 3);
  const auto plain = [](Tensor y) {
    for (int i = 0; i < 3; ++i) y = y * y + 1.0;
    return y;
  };
  EXPECT_EQ(f(x).item<double>(), plain(x).item<double>());
  expect_same({grad(f)(x)}, {grad(plain)(x)});
  expect_same({jvp(f, x, scalar(1.0)).second}, {jvp(plain, x, scalar(1.0)).second});
  expect_near({hvp(f, x, scalar(1.0))}, {hvp(plain, x, scalar(1.0))}, 1e-14);
  const auto short_of = [](const Tensor& y) {
    return while_loop([](const Tensor& s) { return s < 100.0; }, [](const Tensor& s) { return s * s + 1.0; }, y, {.max_trips = 2}).state;
  };
  EXPECT_THROW(short_of(x), Error);
  const auto endless = [](const Tensor& y) {
    return while_loop([](const Tensor& s) { return s < 100.0; }, [](const Tensor& s) { return s * s + 1.0; }, y).state;
  };
  EXPECT_THROW(grad(endless)(x), Error);
}

TEST(Call, IsTheFunctionUnderAName) {
  const auto f = [](const Tensor& x) { return sum(call("cube", [](const Tensor& y) { return y * y * y; }, x)); };
  const Tensor x = tensor<double>({1, -2, 3}, {3});
  EXPECT_DOUBLE_EQ(f(x).item<double>(), 20);
  expect_same({grad(f)(x)}, {tensor<double>({3, 12, 27}, {3})});
  const Graph g = trace([&](const Tensor& y) { return grad(f)(y); }, x);
  EXPECT_NE(print(g).find("name: \"cube.vjp\""), std::string::npos);
  const Graph plain = trace(f, x);
  const auto node =
      std::find_if(plain.nodes.begin(), plain.nodes.end(), [](const Node& n) { return n.op == &call_op; });
  ASSERT_NE(node, plain.nodes.end());
  EXPECT_EQ(to_string(node->loc).find("scan_test.cpp:"), 0u) << to_string(node->loc);
}

}  // namespace
}  // namespace tidemark
