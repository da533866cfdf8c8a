// Optimizers as graph programs: plain elementwise tensor code on parameters, gradients and state, so that in a
// compiled step they are tasks in the same plan. Rate and step count are scalar tensors: changing them traces nothing
// anew.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/front/aggregate.h"

namespace tidemark {

struct Optimizer {
  enum class Kind { sgd, adam, adamw };
  Kind kind = Kind::adamw;
  double momentum = 0;  // sgd: 0 keeps no state
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // adam, adamw (Kingma & Ba 2015)
  // sgd and adam: added to the gradient; adamw: decoupled (Loshchilov & Hutter 2019).
  double weight_decay = 0;
  int decay_from_rank = 0;  // 2: vectors (biases, norms) do not decay
};

// In the order of the parameters. What an optimizer does not use is empty.
struct OptimizerState {
  Tensor step;       // scalar: updates made
  Tensors momentum;  // sgd's velocity, adam's first moment
  Tensors squares;   // adam's second moment
};

// Zeros (abstract ones for abstract parameters).
TIDEMARK_API OptimizerState make_optimizer_state(const Optimizer& optimizer, const Tensors& params);

template <typename A>
struct Updated {
  A params;
  OptimizerState state;
};
// `rate`: the learning rate, a scalar of the parameters' dtype.
TIDEMARK_API Updated<Tensors> update(const Optimizer& optimizer, const Tensors& params, const Tensors& grads,
                                     const OptimizerState& state, const Tensor& rate);
template <typename A>
Updated<A> update(const Optimizer& optimizer, const A& params, const A& grads, const OptimizerState& state,
                  const Tensor& rate) {
  Updated<Tensors> next = update(optimizer, flatten(params), flatten(grads), state, rate);
  return {unflatten(params, next.params), std::move(next.state)};
}

// The Euclidean norm of all gradients together, and the gradients scaled so that it is at most `limit`.
struct Clipped {
  Tensors grads;
  Tensor norm;  // before
};
TIDEMARK_API Clipped clip_by_global_norm(const Tensors& grads, double limit);

}  // namespace tidemark
