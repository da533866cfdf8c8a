// A pendulum that swings against a wall: find the push that leaves it at rest near an angle after 400 steps. What a step does depends on
// whether it meets the wall; the steps are compiled, one path through them for each side of the branch. `pendulum FILE.svg` draws it.
// Returns 1 if the misfit does not fall to a tenth.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>

#include "picture.h"
#include "tidemark/compile/native_steps.h"
#include "tidemark/tape/checkpointed.h"

using namespace tidemark;

template <typename T>
struct Pendulum {
  T angle{}, speed{};
};
template <typename T>
struct Design {
  T push{}, damping{};
};

constexpr double kWall = 0.6, kWanted = -0.35;

int main(int argc, char** argv) {
  const auto step = [](auto& s, const auto& design) {
    using std::sin;
    s.speed = s.speed - 0.02 * (4.0 * sin(s.angle) + design.damping * s.speed - design.push);
    s.angle = s.angle + 0.02 * s.speed;
    if (s.angle > kWall) {  // a bounce that keeps two thirds of the speed
      s.angle = 2.0 * kWall - s.angle;
      s.speed = -0.66 * s.speed;
    }
  };
  const auto misfit = [](const auto& s, const auto&) {
    return (s.angle - kWanted) * (s.angle - kWanted) + 0.1 * s.speed * s.speed;
  };
  const auto compiled_step = compiled(step, {.compiler = native_steps()});

  Pendulum<double> start{0.1, 3.0};
  Design<double> design{0.0, 0.8};
  double first = 0, best = 0, rate = 0.1;
  std::vector<std::vector<double>> swings;
  const auto swing = [&] {
    std::vector<double> angles;
    Pendulum<double> s = start;
    for (std::int64_t i = 0; i < 400; ++i) {
      angles.push_back(s.angle);
      step(s, design);
    }
    swings.push_back(angles);
  };
  swing();
  Pendulum<double> by_start;
  Design<double> by_design;
  for (int round = 0; round < 60; ++round) {
    const Pendulum<double> tried_start{start.angle, start.speed - rate * by_start.speed};
    const Design<double> tried{design.push - rate * by_design.push,
                               std::max(0.05, design.damping - rate * by_design.damping)};
    const auto g = checkpointed(compiled_step, misfit, tried_start, tried, 400, {.memory = 100'000});
    if (round == 0) {
      first = best = g.value;
      std::printf("%s\n", g.report.explain().c_str());
    } else if (g.value > best) {
      rate *= 0.3;
      continue;
    }
    start = tried_start;
    design = tried;
    by_start = g.state;
    by_design = g.parameters;
    best = g.value;
    rate *= 1.5;
  }
  swing();
  std::printf("misfit %.5f at first, %.5f after 60 rounds: speed %.3f, push %.3f, damping %.3f\n", first,
              best, start.speed, design.push, design.damping);
  if (argc > 1) {
    Picture p(640, 260,
              "angle over 400 steps: at first (grey), as designed (red); the wall (black), the angle wanted "
              "(green)");
    const auto level = [&](double y, const char* colour) {
      p.plot({y, y}, 20, 30, 600, 210, -1.0, 0.8, colour);
    };
    level(kWall, "#000");
    level(kWanted, "#2a2");
    p.plot(swings.front(), 20, 30, 600, 210, -1.0, 0.8, "#aaa");
    p.plot(swings.back(), 20, 30, 600, 210, -1.0, 0.8, "#c22");
    p.write(argv[1]);
  }
  return best < 0.1 * first ? 0 : 1;
}
