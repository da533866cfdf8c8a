// A model as tests, benchmarks and the program see it: named parameters, what a batch consists of, and a loss on flat
// lists of tensors. Families (one file each) write theirs on structs of parameters; erase() makes a Model of one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tidemark/nn/init.h"

namespace tidemark {

struct BatchInput {
  std::string name;
  Type type;
  std::int64_t below = 0;  // integers lie in [0, below)
  bool by_sample = true;   // its first axis is the batch's
};

struct Model {
  std::string name;
  std::vector<BatchInput> batch;
  std::vector<std::string> parameter_names, state_names;
  std::function<Tensors(Init&)> parameters;
  std::function<Tensors(Init&)> state;  // what is not trained: running statistics
  // `state` becomes its next version.
  using Apply = std::function<Tensor(const Tensors& params, Tensors& state, const Tensors& batch)>;
  Apply logits;
  Apply loss;

  std::int64_t parameter_count() const;
};

// Normal floats, integers below their limit; abstract where `init` is.
TIDEMARK_API Tensors synthetic_batch(const Model& model, Init& init);

// For models without state.
struct Stateless {};

template <typename P, typename S>
struct Family {
  std::string name;
  std::vector<BatchInput> batch;
  std::function<P(Init&)> parameters;
  std::function<S(Init&)> state;
  std::function<Tensor(const P&, S&, const Tensors& batch)> logits;
  std::function<Tensor(const Tensor& logits, const Tensors& batch)> loss;
};

template <typename P, typename S>
Model erase(Family<P, S> f) {
  Init shapes({.abstract = true});
  const P params = f.parameters(shapes);
  const S state = f.state ? f.state(shapes) : S{};
  Model model;
  model.name = f.name;
  model.batch = f.batch;
  model.parameter_names = tensor_names(params);
  model.state_names = tensor_names(state);
  model.parameters = [make = f.parameters](Init& init) { return flatten(make(init)); };
  model.state = [make = f.state](Init& init) { return make ? flatten(make(init)) : Tensors{}; };
  model.logits = [params, state, apply = f.logits](const Tensors& p, Tensors& s, const Tensors& batch) {
    S next = unflatten(state, s);
    Tensor y = apply(unflatten(params, p), next, batch);
    s = flatten(next);
    return y;
  };
  model.loss = [logits = model.logits, loss = f.loss](const Tensors& p, Tensors& s, const Tensors& batch) {
    const Tensor y = logits(p, s, batch);
    const Scope scope("loss");
    return loss(y, batch);
  };
  return model;
}

}  // namespace tidemark
