// A training step as one function on tensors: loss, gradients, clipping, optimizer. compile(train_step(…), {.state = 1})
// makes one plan of all of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/nn/model.h"
#include "tidemark/nn/optimizer.h"
#include "tidemark/nn/rates.h"

namespace tidemark {

// All that a step changes.
struct TrainState {
  Tensors params, state;
  OptimizerState optimizer;
};
TIDEMARK_API TrainState make_train_state(const Model& model, const Optimizer& optimizer, Init& init);

struct TrainOptions {
  Optimizer optimizer;
  RateSchedule rate = constant_rate(1e-3);
  double clip_norm = 0;  // 0: gradients as they are
  int accumulate = 1;    // equal parts of the batch, one after the other; gradients are their mean
};

struct Trained {
  TrainState next;
  Tensor loss;  // before the update
};
using TrainStep = std::function<Trained(const TrainState&, const Tensors& batch)>;
TIDEMARK_API TrainStep train_step(const Model& model, const TrainOptions& options = {});

// The loss and its gradients, part by part where `parts` > 1. Inputs whose first axis is not the batch's (a key) go to
// every part as they are.
struct LossAndGrads {
  Tensor loss;
  Tensors state, grads;
};
TIDEMARK_API LossAndGrads loss_and_grads(const Model& model, const Tensors& params, const Tensors& state,
                                         const Tensors& batch, int parts = 1);

}  // namespace tidemark
