// A reversible network (Gomez, Ren, Urtasun & Grosse, 2017): a block can be undone, so nothing is stored on the way forward; on the way
// back each block's input is made again from its output. Memory does not grow with depth. `revnet FILE.svg` draws the loss over the
// rounds of training. Returns 1 if the gradient is not that of the stored network to 1e-9, or training does not halve the loss.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>

#include "picture.h"
#include "tidemark/base/random.h"
#include "tidemark/tape/checkpointed.h"

using namespace tidemark;

constexpr std::size_t kWide = 12, kBlocks = 40, kWeights = 2 * kWide * kWide;
using Weights = std::vector<double>;  // of all blocks

template <typename T>
struct Halves {
  std::vector<T> a, b;
};
// to += sign * tanh(W from)
template <typename T, typename W>
void add_layer(std::vector<T>& to, const std::vector<T>& from, const W* w, double sign) {
  using std::tanh;
  for (std::size_t i = 0; i < kWide; ++i) {
    T sum = 0.0;
    for (std::size_t j = 0; j < kWide; ++j) sum += w[i * kWide + j] * from[j];
    to[i] = to[i] + sign * tanh(sum);
  }
}
template <typename T, typename W>
void block(Halves<T>& s, const W* w) {
  add_layer(s.a, s.b, w, 1);
  add_layer(s.b, s.a, w + kWide * kWide, 1);
}
template <typename T, typename W>
void undo_block(Halves<T>& s, const W* w) {
  add_layer(s.b, s.a, w + kWide * kWide, -1);
  add_layer(s.a, s.b, w, -1);
}

// What runs backwards: the state, undone block by block, and the adjoints.
struct Backwards {
  std::vector<double> a, b, a_bar, b_bar;
  Weights w_bar;
};
struct Nothing {};

int main(int argc, char** argv) {
  Rng rng(4);
  Weights w(kBlocks * kWeights);
  for (double& v : w) v = 0.5 * (rng.uniform() - 0.5);
  Halves<double> x{std::vector<double>(kWide), std::vector<double>(kWide)};
  std::vector<double> wanted(kWide);
  for (std::size_t i = 0; i < kWide; ++i) {
    x.a[i] = rng.uniform();
    x.b[i] = rng.uniform();
    wanted[i] = std::sin(static_cast<double>(i));
  }
  double loss = 0;
  const auto step = [&](Halves<double>& s, std::int64_t i) {
    block(s, &w[static_cast<std::size_t>(i) * kWeights]);
  };
  const auto keep = [&](Halves<double>& s, std::int64_t i) {
    step(s, i);
    return Nothing{};
  };
  const auto finish = [&](const Halves<double>& s) {
    Backwards r{s.a, s.b, std::vector<double>(kWide), std::vector<double>(kWide), Weights(w.size())};
    loss = 0;
    for (std::size_t i = 0; i < kWide; ++i) {
      loss += (s.a[i] - wanted[i]) * (s.a[i] - wanted[i]);
      r.a_bar[i] = 2 * (s.a[i] - wanted[i]);
    }
    return r;
  };
  Tape tape({.chunk = 64_KiB});
  const auto adjoint = [&](Backwards& r, const Nothing&, std::int64_t i) {
    const std::size_t first = static_cast<std::size_t>(i) * kWeights;
    Halves<double> before{r.a, r.b};
    undo_block(before, &w[first]);
    tape.reset();
    const Tape::Recording recording(tape);
    Halves<Var> s;
    tape::lift(tape, before, s);
    const Halves<Var> inputs = s;
    std::vector<Var> weights;
    for (std::size_t k = 0; k < kWeights; ++k) weights.push_back(tape.input(w[first + k]));
    block(s, weights.data());
    tape.begin_sweep();
    for (std::size_t k = 0; k < kWide; ++k) {
      tape.seed(s.a[k], r.a_bar[k]);
      tape.seed(s.b[k], r.b_bar[k]);
    }
    tape.sweep();
    for (std::size_t k = 0; k < kWide; ++k) {
      r.a_bar[k] = tape.adjoint(inputs.a[k]);
      r.b_bar[k] = tape.adjoint(inputs.b[k]);
    }
    for (std::size_t k = 0; k < kWeights; ++k) r.w_bar[first + k] = tape.adjoint(weights[k]);
    r.a = before.a;
    r.b = before.b;
  };

  // The same network on one tape, all of it stored.
  Tape all;
  std::vector<double> stored;
  {
    const Tape::Recording recording(all);
    Halves<Var> s;
    tape::lift(all, x, s);
    std::vector<Var> weights;
    for (const double v : w) weights.push_back(all.input(v));
    for (std::size_t i = 0; i < kBlocks; ++i) block(s, &weights[i * kWeights]);
    Var sum = 0.0;
    for (std::size_t i = 0; i < kWide; ++i) sum += (s.a[i] - wanted[i]) * (s.a[i] - wanted[i]);
    all.reverse(sum);
    for (const Var& v : weights) stored.push_back(all.adjoint(v));
  }
  std::vector<double> losses;
  double difference = 0;
  for (int round = 0; round < 60; ++round) {
    const auto [r, report] =
        checkpointed_by_hand(step, keep, adjoint, finish, x, kBlocks, {.memory = 96'000});
    if (round == 0) {
      for (std::size_t i = 0; i < w.size(); ++i)
        difference = std::max(difference, std::fabs(r.w_bar[i] - stored[i]));
      std::printf("%lld bytes of tape for a block, %lld for the whole network; gradients differ by %.1e\n",
                  static_cast<long long>(tape.counts().tape), static_cast<long long>(all.counts().tape),
                  difference);
    }
    losses.push_back(loss);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= 0.00003 * r.w_bar[i];
  }
  std::printf("loss %.4f at first, %.4f after 60 rounds\n", losses.front(), losses.back());
  if (argc > 1) {
    Picture p(420, 220, "loss over rounds of training, nothing stored but the end");
    p.plot(losses, 20, 30, 380, 170, 0, losses.front(), "#c22");
    p.write(argv[1]);
  }
  return difference < 1e-9 && losses.back() < 0.5 * losses.front() ? 0 : 1;
}
