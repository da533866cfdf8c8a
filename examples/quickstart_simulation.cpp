// The second program of the README: a simulation in plain C++, differentiated in a megabyte.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <vector>

#include "tidemark/tape/checkpointed.h"
using namespace tidemark;

template <typename T>
struct Rod {
  std::vector<T> heat;  // the state: any struct; what is a T is differentiated
};
template <typename T>
struct Material {
  T conductivity{}, loss{};  // the parameters
};
const auto step = [](auto& rod, const auto& material) {
  auto before = rod.heat;
  for (std::size_t i = 1; i + 1 < before.size(); ++i)
    rod.heat[i] +=
        material.conductivity * (before[i - 1] - 2.0 * before[i] + before[i + 1]) - material.loss * before[i];
};
const auto far_end = [](const auto& rod, const auto&) { return rod.heat[rod.heat.size() - 2]; };

int main() {
  Rod<double> rod{std::vector<double>(200, 0.0)};
  rod.heat.front() = 100;
  const Material<double> material{0.25, 1e-5};
  auto g = checkpointed(step, far_end, rod, material, 100'000, {.memory = 1_MiB});
  std::printf("heat %.4f, by conductivity %.4f, by loss %.1f\n", g.value, g.parameters.conductivity,
              g.parameters.loss);
  std::puts(g.report.explain().c_str());
}
