// docs/tutorials/network.md: a network of one's own, trained inside a budget.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "tidemark/nn/optimizer.h"
#include "tidemark/nn/rates.h"
#include "tidemark/tidemark.h"

using namespace tidemark;

// Parameters are any struct of Tensors; a gradient is the same struct.
struct Layer {
  Tensor weight, bias;
};
struct Net {
  std::vector<Layer> layers;
};

Tensor loss(const Net& net, Tensor x, const Tensor& wanted) {
  for (const Layer& layer : net.layers) x = tanh(matmul(x, layer.weight) + layer.bias);
  return mean(square(x - wanted));
}

// All that a step changes, and what it returns: the next version of it first.
struct State {
  Net net;
  OptimizerState optimizer;
};
struct Stepped {
  State next;
  Tensor loss;
};

Stepped step(const State& s, const Tensor& x, const Tensor& wanted) {
  const auto [value, gradient] = value_and_grad(loss)(s.net, x, wanted);
  const Tensor rate = constant_rate(3e-3)(s.optimizer.step);
  auto updated = update(Optimizer{.kind = Optimizer::Kind::adam}, s.net, gradient, s.optimizer, rate);
  return {{updated.params, updated.state}, value};
}

Net make_net(int depth, std::int64_t width) {
  Net net;
  for (int i = 0; i < depth; ++i) {
    std::vector<float> w(static_cast<std::size_t>(width * width));
    for (std::size_t k = 0; k < w.size(); ++k)
      w[k] = 0.15f * static_cast<float>(static_cast<int>((k * 2654435761u) >> 8 & 255) - 128) / 128;
    net.layers.push_back({tensor(w, {width, width}), zeros({width})});
  }
  return net;
}

int main() {
  State state{make_net(12, 64), {}};
  state.optimizer = make_optimizer_state(Optimizer{.kind = Optimizer::Kind::adam}, flatten(state.net));
  const Tensor x = full({1024, 64}, 0.3), wanted = full({1024, 64}, 0.2);

  auto train = compile(step, {.memory = 0.6, .state = 1, .name = "net"});
  float first = 0, last = 0;
  for (int i = 0; i < 30; ++i) {
    Stepped result = train(std::move(state), x, wanted);  // given up: updated where it lies
    state = std::move(result.next);
    last = result.loss.item<float>();
    if (i == 0) first = last;
  }
  std::printf("loss %.4f at first, %.4f at last\n", static_cast<double>(first), static_cast<double>(last));

  const Compiled& planned = train.plan_for(state, x, wanted);
  std::printf("peak %s predicted, %s measured\n", format_bytes(planned.peak_predicted()).c_str(),
              format_bytes(planned.peak_measured()).c_str());
  for (const MemoryRow& row : planned.memory())
    std::printf("  %-40s %s\n", row.what.c_str(), format_bytes(row.bytes).c_str());

  try {
    compile(step, {.memory = 1_MiB, .state = 1})(state, x, wanted);
  } catch (const Error& e) {
    std::printf("refused before anything ran: %s\n", name_of(e.kind()));
  }
  return last < first ? 0 : 1;
}
