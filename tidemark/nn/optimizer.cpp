// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/optimizer.h"

#include "tidemark/front/eager.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/reduce.h"

namespace tidemark {
namespace {

Tensor zeros_of(const Tensor& like, const Shape& shape) {
  return like.concrete() ? zeros(shape, like.dtype()) : abstract({shape, like.dtype()});
}

bool uses_momentum(const Optimizer& o) { return o.kind != Optimizer::Kind::sgd || o.momentum != 0; }
bool uses_squares(const Optimizer& o) { return o.kind != Optimizer::Kind::sgd; }

double decay_of(const Optimizer& o, const Tensor& param) {
  return param.rank() >= o.decay_from_rank ? o.weight_decay : 0;
}

struct Next {
  Tensor param, momentum, square;
};

Next sgd(const Optimizer& o, const Tensor& param, Tensor grad, const Tensor& velocity, const Tensor& rate) {
  if (const double decay = decay_of(o, param); decay != 0) grad += param * decay;
  if (o.momentum == 0) return {param - rate * grad, {}, {}};
  const Tensor v = velocity * o.momentum + grad;
  return {param - rate * (o.nesterov ? grad + v * o.momentum : v), v, {}};
}

// What a step's bias corrections come to, once for all parameters.
struct AdamRates {
  Tensor rate, first, second;  // rate; rate / (1 - beta1^t); 1 / sqrt(1 - beta2^t)
};

Next adam(const Optimizer& o, const Tensor& param, Tensor grad, const Tensor& m, const Tensor& v,
          const AdamRates& rates) {
  const double decay = decay_of(o, param);
  Tensor kept = param;
  if (decay != 0 && o.kind == Optimizer::Kind::adam) grad += param * decay;
  if (decay != 0 && o.kind == Optimizer::Kind::adamw) kept = param * (1 - rates.rate * decay);
  Next next;
  next.momentum = m * o.beta1 + grad * (1 - o.beta1);
  next.square = v * o.beta2 + square(grad) * (1 - o.beta2);
  next.param = kept - rates.first * next.momentum / (sqrt(next.square) * rates.second + o.epsilon);
  return next;
}

void expect_same_count(const char* what, std::size_t n, std::size_t params) {
  if (n != params) fail(Error::Kind::usage, "[update] {} {} vs {} parameters", n, what, params);
}

}  // namespace

OptimizerState make_optimizer_state(const Optimizer& optimizer, const Tensors& params) {
  if (params.empty()) fail(Error::Kind::usage, "[optimizer] no parameters");
  OptimizerState state;
  state.step = zeros_of(params[0], {});
  for (const Tensor& p : params) {
    if (uses_momentum(optimizer)) state.momentum.push_back(zeros_of(p, p.shape()));
    if (uses_squares(optimizer)) state.squares.push_back(zeros_of(p, p.shape()));
  }
  return state;
}

Updated<Tensors> update(const Optimizer& optimizer, const Tensors& params, const Tensors& grads,
                        const OptimizerState& state, const Tensor& rate) {
  expect_same_count("gradients", grads.size(), params.size());
  if (uses_momentum(optimizer)) expect_same_count("first moments", state.momentum.size(), params.size());
  if (uses_squares(optimizer)) expect_same_count("second moments", state.squares.size(), params.size());
  const Scope scope("optimizer");
  Updated<Tensors> next;
  next.state.step = state.step + 1;
  AdamRates rates;
  if (optimizer.kind != Optimizer::Kind::sgd) {
    const Tensor& t = next.state.step;
    rates = {rate, rate / (1 - pow(optimizer.beta1, t)), rsqrt(1 - pow(optimizer.beta2, t))};
  }
  for (std::size_t i = 0; i < params.size(); ++i) {
    Next n = optimizer.kind == Optimizer::Kind::sgd
                 ? sgd(optimizer, params[i], grads[i],
                       uses_momentum(optimizer) ? state.momentum[i] : Tensor{}, rate)
                 : adam(optimizer, params[i], grads[i], state.momentum[i], state.squares[i], rates);
    next.params.push_back(std::move(n.param));
    if (n.momentum.defined()) next.state.momentum.push_back(std::move(n.momentum));
    if (n.square.defined()) next.state.squares.push_back(std::move(n.square));
  }
  return next;
}

Clipped clip_by_global_norm(const Tensors& grads, double limit) {
  if (grads.empty()) fail(Error::Kind::usage, "[clip_by_global_norm] no gradients");
  const Scope scope("clip");
  Tensor total = sum(square(grads[0]));
  for (std::size_t i = 1; i < grads.size(); ++i) total += sum(square(grads[i]));
  Clipped clipped{.norm = sqrt(total)};
  // The small constant as in torch.nn.utils.clip_grad_norm_: a norm of 0 divides nothing by 0.
  const Tensor scale = minimum(limit / (clipped.norm + 1e-6), 1);
  for (const Tensor& g : grads) clipped.grads.push_back(g * scale);
  return clipped;
}

}  // namespace tidemark
