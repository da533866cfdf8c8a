// Small random loops, written as scan and written out: for the tests of front/ and compile/.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/base/random.h"
#include "tidemark/front/eager.h"
#include "tidemark/front/scan.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/index.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"

namespace tidemark::testing_bodies {

// A generator of its own, so that the loops stay what they are.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 0x1234567) {}
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  double real() { return static_cast<double>(next() >> 11) * 0x1p-53 * 2 - 1; }

 private:
  std::uint64_t state_;
};

// State of one to three vectors, xs or not, parameters, ys or not; with `depth`, loops inside.
class RandomLoop {
 public:
  explicit RandomLoop(std::uint64_t seed, int depth = 1, int most_steps = 6, std::int64_t width = 3) : seed_(seed), depth_(depth), width_(width) {
    Dice d(seed);
    steps_ = 1 + d.below(most_steps);
    carries_ = 1 + d.below(3);
    params_ = 1 + d.below(2);
    xs_ = d.below(2);
    ys_ = d.below(2);
  }

  Tensors inputs() const {
    Dice d(seed_ + 77);
    const auto made = [&](const Shape& shape) {
      std::vector<double> data(static_cast<std::size_t>(shape.numel()));
      for (double& x : data) x = d.real();
      return tensor(data, shape);
    };
    Tensors in;
    for (int i = 0; i < carries_ + params_; ++i) in.push_back(made({width_}));
    if (xs_ > 0) in.push_back(made({steps_, width_}));
    return in;
  }

  // The same steps by a loop that learns its length at its end, of which it may have `more`; xs have a length that is known.
  bool can_be_open() const { return xs_ == 0 && ys_ == 0; }
  Tensor open_loss(const Tensors& in, std::int64_t more) const {
    const Tensors params(in.begin() + carries_, in.begin() + carries_ + params_);
    Tensors state(in.begin(), in.begin() + carries_);
    state.push_back(full({}, 0.0, DType::f64));
    const auto last = while_loop([&](const Tensors& s) { return s.back() < static_cast<double>(steps_); },
                                 [&](const Tensors& s) {
                                   Tensors next = step(Tensors(s.begin(), s.end() - 1), params, Tensor{}, true).first;
                                   next.push_back(s.back() + 1.0);
                                   return next;
                                 },
                                 state, {.max_trips = steps_ + more});
    Tensor total = sum(last.state[0] * last.state[0]);
    for (std::size_t i = 1; i + 1 < last.state.size(); ++i) total = total + sum(last.state[i]);
    return total;
  }

  Tensor loss(const Tensors& in, bool looped) const {
    Tensors state(in.begin(), in.begin() + carries_);
    const Tensors params(in.begin() + carries_, in.begin() + carries_ + params_);
    Tensor ys;
    if (looped) {
      if (xs_ > 0) {
        auto r = scan(steps_, state, [&](const Tensors& s, const Tensor& x) { return step(s, params, x, looped); }, in.back());
        state = r.state;
        if (!r.ys.empty()) ys = r.ys[0];
      } else {
        auto r = scan(steps_, state, [&](const Tensors& s) { return step(s, params, Tensor{}, looped); });
        state = r.state;
        if (!r.ys.empty()) ys = r.ys[0];
      }
    } else {
      Tensors all;
      for (int i = 0; i < steps_; ++i) {
        auto [next, y] = step(state, params, xs_ > 0 ? Tensor(in.back()[i]) : Tensor{}, looped);
        state = next;
        if (!y.empty()) all.push_back(y[0]);
      }
      if (!all.empty()) ys = stack(all, 0);
    }
    Tensor total = sum(state[0] * state[0]);
    for (std::size_t i = 1; i < state.size(); ++i) total = total + sum(state[i]);
    if (ys.defined()) total = total + sum(tanh(ys));
    return total;
  }

 private:
  // The same random statements each time it is called.
  std::pair<Tensors, Tensors> step(const Tensors& state, const Tensors& params, const Tensor& x, bool looped) const {
    Dice d(seed_ + 1000);
    Tensors pool = state;
    pool.insert(pool.end(), params.begin(), params.end());
    if (x.defined()) pool.push_back(x);
    const auto pick = [&] { return pool[static_cast<std::size_t>(d.below(static_cast<int>(pool.size())))]; };
    const int statements = 2 + d.below(6);
    for (int i = 0; i < statements; ++i) {
      const Tensor a = pick(), b = pick();
      switch (d.below(depth_ > 1 ? 9 : 8)) {
        case 0: pool.push_back(a + b); break;
        case 1: pool.push_back(a * b * 0.5); break;
        case 2: pool.push_back(tanh(a)); break;
        case 3: pool.push_back(sin(a) - b); break;
        case 4: pool.push_back(roll(a, 1, 0) + 0.25 * b); break;
        case 5: pool.push_back(where(a > b, a * 0.5, b)); break;
        case 6: pool.push_back(a / (2.0 + square(b))); break;
        case 7: pool.push_back(a * mean(b)); break;
        default: pool.push_back(inner(a, b, looped)); break;
      }
    }
    Tensors next;
    for (std::size_t i = 0; i < state.size(); ++i) {
      switch (d.below(5)) {
        case 0: next.push_back(state[i]); break;
        case 1: next.push_back(state[(i + 1) % state.size()]); break;
        default: next.push_back(pick() * 0.9 + 0.1); break;
      }
    }
    Tensors ys;
    if (ys_ > 0) ys.push_back(pick());
    return {next, ys};
  }
  Tensor inner(const Tensor& a, const Tensor& b, bool looped) const {
    const auto body = [&](const Tensor& s) { return tanh(s + b) * 0.75; };
    if (looped) return scan(3, a, body);
    Tensor s = a;
    for (int i = 0; i < 3; ++i) s = body(s);
    return s;
  }

  std::uint64_t seed_;
  int depth_ = 1, steps_ = 1, carries_ = 1, params_ = 1, xs_ = 0, ys_ = 0;
  std::int64_t width_ = 3;
};

// Loops whose every step is read again by its adjoint, so that something must be kept: by scan, or as `open` loops that learn their length at their
// end; with loops of either kind inside.
class DeepLoop {
 public:
  DeepLoop(std::uint64_t seed, std::int64_t most_steps, std::int64_t width) : seed_(seed), width_(width) {
    Dice d(seed);
    steps_ = 2 + d.below(static_cast<int>(most_steps) - 1);
    more_ = d.below(3) == 0 ? d.below(40) : -1;
    inner_ = d.below(3);  // 0: none, 1: scan, 2: open
    vectors_ = 1 + d.below(2);
  }

  Tensors inputs() const {
    Dice d(seed_ + 77);
    Tensors in;
    for (int i = 0; i < vectors_ + 1; ++i) {
      std::vector<double> data(static_cast<std::size_t>(width_));
      for (double& x : data) x = d.real();
      in.push_back(tensor(data, {width_}));
    }
    return in;
  }

  Tensor loss(const Tensors& in) const {
    const Tensors start(in.begin(), in.begin() + vectors_);
    const Tensors last = repeat(steps_, more_, start, [&](const Tensors& s) { return step(s, in.back()); });
    Tensor total = sum(square(last[0]));
    for (std::size_t i = 1; i < last.size(); ++i) total = total + sum(last[i]);
    return total;
  }

 private:
  template <typename Body>
  static Tensors repeat(std::int64_t steps, std::int64_t more, const Tensors& start, const Body& body) {
    if (more < 0) return scan(steps, start, body);
    Tensors state = start;
    state.push_back(full({}, 0.0, DType::f64));
    Tensors last = while_loop([&](const Tensors& s) { return s.back() < static_cast<double>(steps); },
                              [&](const Tensors& s) {
                                Tensors next = body(Tensors(s.begin(), s.end() - 1));
                                next.push_back(s.back() + 1.0);
                                return next;
                              },
                              state, {.max_trips = steps + more})
                       .state;
    last.pop_back();
    return last;
  }
  Tensors step(const Tensors& state, const Tensor& rate) const {
    Dice d(seed_ + 1000);
    Tensors next;
    for (std::size_t i = 0; i < state.size(); ++i) {
      const Tensor a = state[i], b = state[(i + 1) % state.size()];
      switch (d.below(4)) {
        case 0: next.push_back(0.7 * tanh(a * b + rate) + 0.2 * roll(a, 1, 0)); break;
        case 1: next.push_back(0.5 * sin(a + rate * b) + 0.3 * b * a); break;
        case 2: next.push_back(a / (1.5 + square(b)) + 0.1 * rate * exp(-square(a))); break;
        default: next.push_back(0.9 * a + 0.05 * pad(slice(a * b, 0, 1, width_), {{0, 1}}) * tanh(rate * a)); break;
      }
    }
    if (inner_ > 0)
      next[0] = repeat(2 + d.below(9), inner_ == 2 ? d.below(6) : -1, {next[0]},
                       [&](const Tensors& s) { return Tensors{tanh(s[0] * rate + 0.5 * s[0])}; })[0];
    return next;
  }

  std::uint64_t seed_;
  std::int64_t steps_ = 2, more_ = -1, width_;
  int inner_ = 0, vectors_ = 1;
};

}  // namespace tidemark::testing_bodies
