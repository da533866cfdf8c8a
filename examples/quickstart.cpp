// The program of the README: a network, its gradient, and half the memory.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "tidemark/tidemark.h"

using namespace tidemark;

struct Net {
  std::vector<Tensor> layers;
};

Tensor loss(const Net& net, Tensor x) {
  for (const Tensor& w : net.layers) x = tanh(matmul(x, w));
  return mean(square(x));
}

int main() {
  const Net net{std::vector<Tensor>(24, full({256, 256}, 0.01))};
  const Tensor x = full({4096, 256}, 0.5);
  auto keep_all = compile(value_and_grad(loss));
  auto in_half = compile(value_and_grad(loss), {.memory = 0.5});
  const auto a = keep_all(net, x), b = in_half(net, x);
  const Compiled &all = keep_all.plan_for(net, x), &half = in_half.plan_for(net, x);
  std::printf("keeping everything: %s\n", format_bytes(all.peak_measured()).c_str());
  std::printf("planned for half:   %s, predicted %s; %.1f %% more time by the plan's cost model\n", format_bytes(half.peak_measured()).c_str(),
              format_bytes(half.peak_predicted()).c_str(), 100 * (half.plan().seconds / all.plan().seconds - 1));
  std::printf("the same bits:      %s\n", a.value.data<float>()[0] == b.value.data<float>()[0] ? "yes" : "no");
}
