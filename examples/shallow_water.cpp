// Data assimilation: where did the wave come from? Shallow water on a grid, 120 steps; a few gauges hear the wave pass. The first heights are
// found from what they heard by gradient descent, the loop reversed in 400 KB by compiled steps. `shallow_water FILE.svg` draws the
// truth and what was found. Returns 1 if the misfit does not fall to a twentieth.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>

#include "picture.h"
#include "tidemark/compile/native_steps.h"
#include "tidemark/tape/checkpointed.h"

using namespace tidemark;

constexpr std::size_t kWide = 24, kSteps = 120, kCells = kWide * kWide;

template <typename T>
struct Water {
  std::vector<T> height, east, north;  // above rest; speeds through the right and the lower side of a cell
  std::vector<T> heard;  // by the gauges, added up over the steps with weights that tell early from late
  T weight{};
};

const std::vector<std::size_t> kGauges = [] {
  std::vector<std::size_t> all;
  for (std::size_t y = 2; y < kWide; y += 5)
    for (std::size_t x = 2; x < kWide; x += 5) all.push_back(y * kWide + x);
  return all;
}();

const auto step = [](auto& s, const auto&) {
  constexpr double kGravity = 0.2, kDepth = 1.0;
  for (std::size_t y = 0; y + 1 < kWide; ++y)
    for (std::size_t x = 0; x + 1 < kWide; ++x) {
      const std::size_t i = y * kWide + x;
      s.east[i] = s.east[i] - kGravity * (s.height[i + 1] - s.height[i]);
      s.north[i] = s.north[i] - kGravity * (s.height[i + kWide] - s.height[i]);
    }
  for (std::size_t y = 1; y + 1 < kWide; ++y)
    for (std::size_t x = 1; x + 1 < kWide; ++x) {
      const std::size_t i = y * kWide + x;
      s.height[i] = s.height[i] -
                    (kDepth + s.height[i]) * (s.east[i] - s.east[i - 1] + s.north[i] - s.north[i - kWide]);
    }
  // Eight windows in time for each gauge, told apart by powers of the weight.
  for (std::size_t g = 0; g < kGauges.size(); ++g) {
    auto power = s.weight;
    for (std::size_t k = 0; k < 8; ++k) {
      s.heard[g * 8 + k] += power * s.height[kGauges[g]];
      power = power * s.weight;
    }
  }
  s.weight = s.weight + 1.0 / kSteps;
};

int main(int argc, char** argv) {
  const auto lake = [] {
    return Water<double>{std::vector<double>(kCells), std::vector<double>(kCells),
                         std::vector<double>(kCells), std::vector<double>(8 * kGauges.size()), 0.2};
  };
  Water<double> truth = lake();
  for (std::size_t i = 0; i < kCells; ++i) {
    const double x = static_cast<double>(i % kWide) - 15, y = static_cast<double>(i / kWide) - 9;
    truth.height[i] = 0.2 * std::exp(-0.08 * (x * x + y * y));
  }
  Water<double> end = truth;
  for (std::size_t i = 0; i < kSteps; ++i) step(end, 0);
  const auto misfit = [heard = end.heard](const auto& s, const auto&) {
    std::remove_cvref_t<decltype(s.weight)> sum = 0.0;
    for (std::size_t i = 0; i < heard.size(); ++i) sum += (s.heard[i] - heard[i]) * (s.heard[i] - heard[i]);
    return sum;
  };

  // Steepest descent; a step that makes things worse is taken back and shortened.
  const auto compiled_step = compiled(step, {.compiler = native_steps()});
  Water<double> guess = lake();
  std::vector<double> direction(kCells, 0.0);
  double first = 0, last = 0, rate = 0.1;
  for (int round = 0; round < 120; ++round) {
    Water<double> tried = guess;
    for (std::size_t i = 0; i < kCells; ++i) tried.height[i] -= rate * direction[i];
    const auto g =
        checkpointed<Water, NoParameters>(compiled_step, misfit, tried, {}, kSteps, {.memory = 400'000});
    if (round == 0) {
      first = g.value;
      std::printf("%s\n", g.report.explain().c_str());
    } else if (!(g.value < last)) {
      rate *= 0.4;
      continue;
    }
    rate *= 1.3;
    last = g.value;
    guess = tried;
    // Waves are smooth: so is the direction. Averages over neighbours, there and back, keep it one of descent.
    direction = g.state.height;
    for (int pass = 0; pass < 12; ++pass) {
      std::vector<double> mean(kCells, 0.0);
      for (std::size_t y = 1; y + 1 < kWide; ++y)
        for (std::size_t x = 1; x + 1 < kWide; ++x) {
          const std::size_t i = y * kWide + x;
          mean[i] = 0.5 * direction[i] + 0.125 * (direction[i - 1] + direction[i + 1] + direction[i - kWide] +
                                                  direction[i + kWide]);
        }
      direction = mean;
    }
    double steepest = 0;
    for (const double d : direction) steepest = std::max(steepest, std::fabs(d));
    for (double& d : direction) d /= steepest;
  }
  std::printf("misfit %.5f at first, %.6f after 120 rounds\n", first, last);
  if (argc > 1) {
    Picture p(640, 340, "first heights: the truth (left), and as the gauges (dots) tell (right)");
    p.map(truth.height, kWide, 10, 30, 12, -0.2, 0.2);
    p.map(guess.height, kWide, 330, 30, 12, -0.2, 0.2);
    for (const std::size_t g : kGauges)
      p.dot(336 + 12 * static_cast<double>(g % kWide), 36 + 12 * static_cast<double>(g / kWide), 2, "#000");
    p.write(argv[1]);
  }
  return last < first / 20 ? 0 : 1;
}
