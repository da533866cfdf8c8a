// A small model of the zoo as a training step, from the same start every time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <utility>
#include <vector>

#include "tidemark/nn/train.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/tidemark.h"

namespace tidemark {

struct ModelCase {
  const char* model;
  ModelOptions options;
};
inline void PrintTo(const ModelCase& c, std::ostream* out) { *out << c.model; }

struct TrainSetting {
  explicit TrainSetting(const ModelCase& c)
      : model(make_model(c.model, c.options)), step(train_step(model, {.rate = constant_rate(1e-3)})) {
    Init init({.seed = 10});
    batch = synthetic_batch(model, init);
  }
  TrainState start() const {
    Init init({.seed = 9});
    return make_train_state(model, TrainOptions{}.optimizer, init);
  }
  // The losses and every updated tensor after so many steps.
  template <typename F>
  std::vector<float> after(F& f, int steps) const {
    TrainState state = start();
    std::vector<float> all;
    for (int i = 0; i < steps; ++i) {
      Trained r = f(std::move(state), batch);
      state = std::move(r.next);
      all.push_back(r.loss.template item<float>());
    }
    for (const Tensor& t : flatten(state)) {
      const auto d = t.data<float>();
      all.insert(all.end(), d.begin(), d.end());
    }
    return all;
  }

  Model model;
  TrainStep step;
  Tensors batch;
};

}  // namespace tidemark
