// Options in combination: small random training steps under random budgets, tiers, pins, micro-batches, makers, shapes and planners have
// the bits of the same parts with everything kept, use what their plan says, and tell it. Each program and its options are a number's.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

constexpr std::int64_t kWidth = 16;

struct Net {
  std::vector<Tensor> w, b;
};
struct State {
  Net net;
  std::vector<Tensor> moments;
  Tensor running, key;
};
struct Stepped {
  State next;
  Tensor loss;
  Tensors extra;
};

// Which layers a program has, and what else.
struct Program {
  std::vector<unsigned> layers;
  bool extra = false, adaptive = false;
};

// One layer of sixteen kinds: what makers, cuts, views and regions each have to do with.
Tensor layer(unsigned kind, std::size_t i, const Net& n, const Tensor& h, std::vector<Tensor>& past,
             const Tensor& key) {
  const Tensor &w = n.w[i], &bias = n.b[i];
  const auto named = [&](const Tensor& t) { return name(t, "h." + std::to_string(i)); };
  switch (kind) {
    case 0:
      return named(tanh(matmul(h, w) + bias));
    case 1:
      return h + relu(matmul(h, w) + bias);
    case 2:
      return relu(matmul(h, w));
    case 3:
      return matmul(h, w) * exp(-square(h)) + bias;
    case 4: {  // a reversible pair
      const Tensor a = h + tanh(matmul(past.front(), w) + bias);
      return named(past.front() - tanh(matmul(a, w)) + a);
    }
    case 5:
      return h * exp(0.5 * tanh(matmul(h, w))) + tanh(matmul(h, w) + bias);
    case 6:
      return 2.0 * softplus(matmul(h, w));
    case 7:
      return named(matmul(layer_norm(h, bias + 1.0, bias), w));
    case 8: {
      const Tensors halves = split(h, 2, 1);
      return named(matmul(concat({halves[1] * 1.5, tanh(halves[0])}, 1), w));
    }
    case 9:
      return h + past[past.size() / 2] * sigmoid(matmul(h, w));
    case 10:
      return relu(matmul(dropout(h, 0.25, key + static_cast<double>(i)), w));
    case 11:
      return named(scan(3, h, [&](const Tensor& s) { return tanh(matmul(s, w) + bias); }));
    case 12:
      return cond(
          sum(w) > 0.0, [&](const Tensor& s) { return tanh(matmul(s, w)); },
          [&](const Tensor& s) { return relu(s) + bias; }, h);
    case 13:
      return named(softmax(matmul(h, w) + bias)) * 3.0;
    case 14: {
      const Tensor turned = transpose(reshape(h, {h.shape()[0], 4, kWidth / 4}), 1, 2);
      return matmul(reshape(contiguous(turned), {h.shape()[0], kWidth}), w) + h;
    }
    default:
      return where(h > 0.1, matmul(h, w), square(h));
  }
}

Tensor forward(const Program& p, const Net& n, const Tensor& x, const Tensor& key) {
  Tensor h = x;
  std::vector<Tensor> past{x};
  for (std::size_t i = 0; i < p.layers.size(); ++i)
    past.push_back(h = layer(p.layers[i], i, n, h, past, key));
  return h;
}

Stepped step(const Program& p, const State& s, const Tensor& x) {
  const auto loss = [&](const Net& n) { return mean(square(forward(p, n, x, s.key))); };
  const auto [value, g] = value_and_grad(loss)(s.net);
  Stepped out{s, value, {}};
  for (std::size_t i = 0; i < p.layers.size(); ++i) {
    Tensor& m = out.next.moments[i];
    m = 0.9 * s.moments[i] + (p.adaptive ? 0.1 * square(g.w[i]) : g.w[i]);
    out.next.net.w[i] = s.net.w[i] - (p.adaptive ? 0.01 * g.w[i] / (sqrt(m) + 1e-3) : 0.05 * m);
    out.next.net.b[i] = s.net.b[i] - 0.05 * g.b[i];
  }
  out.next.running = 0.9 * s.running + 0.1 * value;
  if (p.extra) out.extra = {name(forward(p, s.net, x, s.key) * 1.25, "extra")};  // of the parameters before
  return out;
}

using Random = std::mt19937;

Tensor normal(Random& random, const Shape& shape, double scale) {
  std::vector<float> data(static_cast<std::size_t>(shape.numel()));
  for (float& v : data) v = static_cast<float>(scale * (static_cast<double>(random() % 20001) / 10000 - 1));
  return tensor(data, shape);
}
State start(const Program& p) {
  Random random(3);
  State s{.running = scalar(0.0f), .key = tensor<std::int64_t>({7, 9}, {2})};
  for (std::size_t i = 0; i < p.layers.size(); ++i) {
    s.net.w.push_back(normal(random, {kWidth, kWidth}, 0.4));
    s.net.b.push_back(normal(random, {kWidth}, 0.1));
    s.moments.push_back(square(normal(random, {kWidth, kWidth}, 0.1)));
  }
  return s;
}
Tensor batch(std::int64_t n, unsigned seed) {
  Random random(seed);
  return normal(random, {n, kWidth}, 1);
}

// Every bit of what some steps give, the batches being as long as these in turn.
template <typename F>
std::string bits_of(F& f, const Program& p, const std::vector<std::int64_t>& lengths, std::size_t steps) {
  State s = start(p);
  Tensors held;
  for (std::size_t k = 0; k < steps; ++k) {
    Stepped out = f(std::move(s), batch(lengths[k % lengths.size()], 100 + static_cast<unsigned>(k)));
    s = std::move(out.next);
    held.push_back(out.loss);
    held.insert(held.end(), out.extra.begin(), out.extra.end());
  }
  const Tensors last = flatten(s);
  held.insert(held.end(), last.begin(), last.end());
  std::string bits;
  for (const Tensor& t : held)
    bits.append(reinterpret_cast<const char*>(t.storage()->data()),
                static_cast<std::size_t>(t.type().bytes()));
  return bits;
}

// Products take long and the rest next to nothing, so that plans would rather do anything than run a product again.
std::shared_ptr<const DeviceProfile> slow_products(int threads) {
  DeviceProfile profile = cpu_profile(threads);
  profile.ops.clear();
  profile.points.clear();
  profile.roofline = {.flops_per_second = 2e8, .bytes_per_second = 1e13, .seconds_per_task = 1e-9};
  return std::make_shared<const DeviceProfile>(profile);
}

class Combination {
 public:
  explicit Combination(unsigned seed) : random_(seed), seed_(seed) {
    for (std::size_t i = 0, n = 3 + pick(7); i < n; ++i) program_.layers.push_back(pick(16));
    program_.extra = pick(3) == 0;
    program_.adaptive = pick(2) == 0;
    lengths_ = {std::vector<std::int64_t>{24, 48, 60, 120}[pick(4)]};
    if (pick(3) == 0) lengths_.push_back(lengths_[0] / 2);
    kept_ = {.device = cpu({.threads = static_cast<int>(1 + pick(2))}), .state = 1, .correct = false};
    options_ = kept_;
    options_.time_limit = 0.05;
    options_.correct = pick(3) == 0;
    options_.micro_batches = {std::vector<int>{1, 1, 1, 2, 3, 4, 0}[pick(7)], {1}};
    if (pick(3) != 0) options_.profile = slow_products(kept_.device->threads());
    options_.makers = pick(4) != 0;
    if (pick(4) == 0) options_.allow = {"zstd"};
    options_.atomic = pick(3) != 0;
    options_.verify = pick(3) == 0;
    if (pick(4) == 0)
      options_.planner = std::vector<std::string>{"sqrt_n", "dtr", "chen_greedy", "store_all"}[pick(4)];
    if (lengths_.size() > 1 && pick(2) == 0) options_.shapes = {{Type{{lengths_[1], kWidth}, DType::f32}}};
    add_tiers();
    add_pins();
  }

  // Whether it ran: a combination that does not fit, or cannot be, is refused before anything runs.
  bool run() {
    const Program& p = program_;
    const auto f = [p](const State& s, const Tensor& x) { return step(p, s, x); };
    auto all = compile(f, kept_);
    const Compiled& whole = all.plan_for(start(p), batch(lengths_[0], 1));
    const Bytes most = whole.plan().peak, least = whole.smallest(0.03).plan.peak;
    options_.memory =
        pick(6) == 0 ? Budget::minimum() : Budget(least + static_cast<Bytes>(pick(11)) * (most - least) / 10);
    auto g = compile(f, options_);
    const std::size_t steps = options_.correct ? 24 : 6;
    try {
      const std::string got = bits_of(g, p, lengths_, steps);
      kept_.micro_batches = {g.plan_for(start(p), batch(lengths_[0], 1)).micro_batches(), {1}};
      for (const std::int64_t n : lengths_) {
        const Compiled& c = g.plan_for(start(p), batch(n, 1));
        if (c.micro_batches() != kept_.micro_batches.parts) return false;  // other sums for each length
        expect_accounted(c);
      }
      auto wanted = compile(f, kept_);
      EXPECT_TRUE(got == bits_of(wanted, p, lengths_, steps)) << "other bits: combination " << seed_;
      return true;
    } catch (const Error& e) {
      const bool refused = e.kind() == Error::Kind::infeasible || e.kind() == Error::Kind::usage ||
                           e.kind() == Error::Kind::unsupported;
      EXPECT_TRUE(refused) << "combination " << seed_ << ": " << e.what();
      return false;
    }
  }

 private:
  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
  void add_tiers() {
    const std::string folder = testing::TempDir();
    const unsigned kind = pick(6);
    if (kind == 0) options_.tiers = {host(8_MiB)};
    if (kind == 1) options_.tiers = {disk(folder, 8_MiB)};
    if (kind == 2) options_.tiers = {host(4_KiB), disk(folder, 8_MiB)};
    if (kind == 3) {
      options_.tiers = {pick(2) == 0 ? host(8_MiB) : disk(folder, 8_MiB)};
      options_.tiers[0].holds = {"moments.*"};
      if (pick(3) == 0) options_.tiers[0].holds.push_back("net.w*");
    }
  }
  void add_pins() {
    if (pick(3) != 0) return;
    if (pick(2) == 0) options_.pins.push_back({"h.1", keep});
    options_.pins.push_back({"h.*", pick(2) == 0 ? keep : recompute});
    if (pick(4) == 0) options_.pins.push_back({"*", recompute});
  }
  void expect_accounted(const Compiled& c) const {
    EXPECT_EQ(plan::check(c.problem(), c.plan()), "") << "combination " << seed_;
    if (lengths_.size() == 1) {
      EXPECT_EQ(c.peak_measured(), c.plan().peak) << "combination " << seed_;
    }
    if (options_.memory.kind == Budget::Kind::bytes) {
      EXPECT_LE(c.plan().peak, options_.memory.bytes) << "combination " << seed_;
    }
    EXPECT_EQ(c.memory().back().what, "unexplained");
    EXPECT_EQ(c.memory().back().bytes, 0) << "combination " << seed_;
    EXPECT_FALSE(c.explain("*").empty());
  }

  Random random_;
  unsigned seed_;
  Program program_;
  std::vector<std::int64_t> lengths_;
  CompileOptions kept_, options_;
};

int run_all(unsigned from, unsigned to) {
  int ran = 0;
  for (unsigned seed = from; seed < to; ++seed) ran += Combination(seed).run();
  return ran;
}

TEST(Combinations, HaveTheBitsOfKeepingEverything) { EXPECT_GE(run_all(0, 4), 1); }

class SlowCombinations : public testing::TestWithParam<unsigned> {};
TEST_P(SlowCombinations, HaveTheBitsOfKeepingEverything_Slow) {
  EXPECT_GE(run_all(GetParam(), GetParam() + 100), 30);
}
INSTANTIATE_TEST_SUITE_P(Slow, SlowCombinations,
                         testing::Values(1000u, 1100u, 1200u, 1300u, 1400u, 1500u));

}  // namespace
}  // namespace tidemark
