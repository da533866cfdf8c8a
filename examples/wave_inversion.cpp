// Seismic inversion: what lies under the ground, from what receivers above and below heard. A shot is simulated by a loop of time
// steps; the gradient of the misfit by the velocity of every cell runs the loop backwards, in a quarter of the memory that all
// states would take.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>

#include "picture.h"
#include "tidemark/compile/loops.h"
#include "tidemark/tidemark.h"

using namespace tidemark;

constexpr std::int64_t kCells = 48, kSteps = 140;

struct Waves {
  Tensor before, now;
};

// A plane wave goes down from the fifth row; what receivers above and at the bottom hear, step by step.
Tensor shot(const Tensor& velocity, const Tensor& wavelet) {
  const Tensor silence = zeros_like(velocity), stiffness = square(velocity);
  const auto inside = [](const Tensor& x, std::int64_t di, std::int64_t dj) {
    return slice(slice(x, 0, 1 + di, kCells - 1 + di), 1, 1 + dj, kCells - 1 + dj);
  };
  const auto record = scan(
      kSteps, Waves{silence, silence},
      [&](const Waves& w, const Tensor& pulse) {
        const Tensor laplace = inside(w.now, -1, 0) + inside(w.now, 1, 0) + inside(w.now, 0, -1) +
                               inside(w.now, 0, 1) - 4.0 * inside(w.now, 0, 0);
        Tensor next =
            pad(2.0 * inside(w.now, 0, 0) - inside(w.before, 0, 0) + inside(stiffness, 0, 0) * laplace,
                {{1, 1}, {1, 1}});
        next[4] = Tensor(next[4]) + pulse;
        return std::pair(Waves{w.now, next}, concat({Tensor(next[3]), Tensor(next[kCells - 4])}, 0));
      },
      wavelet);
  return record.ys;
}

int main(int argc, char** argv) {
  std::vector<double> pulse(kSteps), truth(kCells * kCells, 0.4);
  for (std::int64_t t = 0; t < kSteps; ++t) {
    const double a = 0.1 * (static_cast<double>(t) - 25);
    pulse[static_cast<std::size_t>(t)] = (1 - 2 * a * a) * std::exp(-a * a);
  }
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double y = static_cast<double>(i / kCells) - 26, x = static_cast<double>(i % kCells) - 20;
    truth[i] += 0.08 * std::exp(-0.02 * (x * x + y * y));  // something harder in the middle
  }
  const Tensor wavelet = tensor(pulse, {kSteps}), heard = shot(tensor(truth, {kCells, kCells}), wavelet);
  const auto misfit = [&](const Tensor& velocity) { return sum(square(shot(velocity, wavelet) - heard)); };
  auto step = compile([&](const Tensor& v) { return value_and_grad(misfit)(v); }, {.memory = 0.25});

  // Steepest descent; a step that makes things worse is taken back and halved.
  Tensor velocity = full({kCells, kCells}, 0.4, DType::f64);
  auto best = step(velocity);
  const double first = best.value.item<double>();
  double last = first, rate = 0.01;
  // The ground is smooth: so is the direction, by averages over neighbours, which keep it one of descent.
  const auto smooth = [](Tensor x) {
    for (int pass = 0; pass < 10; ++pass)
      x = 0.5 * x + 0.125 * (roll(x, 1, 0) + roll(x, -1, 0) + roll(x, 1, 1) + roll(x, -1, 1));
    return x;
  };
  Tensor gradient = smooth(best.grad);
  for (int k = 0; k < 40; ++k) {
    const double scale = rate / std::sqrt(mean(square(gradient)).item<double>());
    const Tensor tried = clamp(velocity - scale * gradient, 0.2, 0.65);
    const auto now = step(tried);
    const bool better = now.value.item<double>() < last;
    rate *= better ? 1.5 : 0.25;
    if (!better) continue;
    velocity = tried;
    last = now.value.item<double>();
    gradient = smooth(now.grad);  // results lie in the arena, which the next run uses again
    std::printf("step %2d  misfit %.5f\n", k, last);
  }
  std::printf("misfit %.5f -> %.5f\n", first, last);
  const Compiled& c = step.plan_for(velocity);
  std::printf("peak: %lld bytes predicted, %lld measured\n", static_cast<long long>(c.peak_predicted()),
              static_cast<long long>(c.peak_measured()));
  for (const std::string& line : explain_loops(c.graph(), {})) std::printf("%s\n", line.c_str());
  if (argc > 1) {
    const auto found = velocity.data<double>();
    Picture p(560, 290, "velocities: the truth (left), and as the receivers tell (right)");
    p.map(truth, kCells, 10, 30, 5, 0.3, 0.5);
    p.map({found.begin(), found.end()}, kCells, 290, 30, 5, 0.3, 0.5);
    p.write(argv[1]);
  }
  return last < 0.1 * first && c.peak_predicted() == c.peak_measured() ? 0 : 1;
}
