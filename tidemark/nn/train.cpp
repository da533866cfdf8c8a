// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/train.h"

#include "tidemark/front/grad.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

struct LossAndState {
  Tensor loss;
  Tensors state;
};

Tensors part_of(const Model& model, const Tensors& batch, int part, int parts) {
  const std::int64_t n = batch[0].size(0), each = n / parts;
  Tensors result;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Tensor& t = batch[i];
    const bool samples = i < model.batch.size() ? model.batch[i].by_sample : t.rank() > 0 && t.size(0) == n;
    result.push_back(samples ? slice(t, 0, part * each, (part + 1) * each) : t);
  }
  return result;
}

}  // namespace

TrainState make_train_state(const Model& model, const Optimizer& optimizer, Init& init) {
  TrainState s;
  s.params = model.parameters(init);
  s.state = model.state(init);
  s.optimizer = make_optimizer_state(optimizer, s.params);
  return s;
}

LossAndGrads loss_and_grads(const Model& model, const Tensors& params, const Tensors& state,
                            const Tensors& batch, int parts) {
  const std::int64_t n = batch.empty() ? 0 : batch[0].size(0);
  if (parts < 1 || (parts > 1 && n % parts != 0))
    fail(Error::Kind::usage, "[accumulate] a batch of {} vs {} equal parts", n, parts);
  const auto one = value_and_grad([&](const Tensors& p, const Tensors& s, const Tensors& b) {
    LossAndState r{.state = s};
    r.loss = model.loss(p, r.state, b);
    return r;
  });
  LossAndGrads sum;
  for (int i = 0; i < parts; ++i) {
    auto r = one(params, i == 0 ? state : sum.state, parts == 1 ? batch : part_of(model, batch, i, parts));
    sum.state = std::move(r.value.state);
    if (i == 0) {
      sum.loss = r.value.loss;
      sum.grads = std::move(r.grad);
      continue;
    }
    sum.loss += r.value.loss;
    for (std::size_t g = 0; g < sum.grads.size(); ++g) sum.grads[g] += r.grad[g];
  }
  if (parts > 1) {
    sum.loss = sum.loss * (1.0 / parts);
    for (Tensor& g : sum.grads) g = g * (1.0 / parts);
  }
  return sum;
}

TrainStep train_step(const Model& model, const TrainOptions& options) {
  return [model, options](const TrainState& s, const Tensors& batch) {
    LossAndGrads r = loss_and_grads(model, s.params, s.state, batch, options.accumulate);
    if (options.clip_norm > 0) r.grads = clip_by_global_norm(r.grads, options.clip_norm).grads;
    Updated<Tensors> next =
        update(options.optimizer, s.params, r.grads, s.optimizer, options.rate(s.optimizer.step));
    Trained result;
    result.next = {std::move(next.params), std::move(r.state), std::move(next.state)};
    result.loss = r.loss;
    return result;
  };
}

}  // namespace tidemark
