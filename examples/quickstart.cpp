// The program of the README: a network, its gradient, and half the memory.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

#include "tidemark/tidemark.h"
using namespace tidemark;

struct Net {
  std::vector<Tensor> layers;  // parameters: any struct of Tensors
};
Tensor loss(const Net& net, Tensor x) {
  for (const Tensor& w : net.layers) x = tanh(matmul(x, w));
  return mean(square(x));
}
int main() {
  const Net net{std::vector<Tensor>(24, full({256, 256}, 0.01))};
  const Tensor x = full({4096, 256}, 0.5);
  auto all = compile(value_and_grad(loss));
  auto half = compile(value_and_grad(loss), {.memory = 0.5});  // or 2_GiB
  const auto a = all(net, x), b = half(net, x);                // b.grad is a Net
  const Compiled &large = all.plan_for(net, x), &small = half.plan_for(net, x);
  std::printf("keeping everything: %s\n", format_bytes(large.peak_measured()).c_str());
  std::printf("planned for half:   %s, predicted %s\n", format_bytes(small.peak_measured()).c_str(),
              format_bytes(small.peak_predicted()).c_str());
  std::printf("the same gradient:  %s\n",
              std::ranges::equal(a.grad.layers[0].data<float>(), b.grad.layers[0].data<float>())
                  ? "to the bit"
                  : "no");
}
