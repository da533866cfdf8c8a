// SPDX-License-Identifier: Apache-2.0
#include "tidemark/cli/training.h"

#include <cstring>

#include "tidemark/compile/compile.h"

namespace tidemark::cli {

struct Training::Step {
  Function<TrainStep> run;
};

Training::Training(const ModelSource& source, Budget memory, double time_limit, const Tensors& example)
    : model_(source.model()), training_(source.training()) {
  step_ = std::make_unique<Step>(
      Step{compile(train_step(model_, training_), source.compile_options(memory, time_limit))});
  compiled_ = &step_->run.plan_for(abstract_state(), example);
}

Training::~Training() = default;

TrainState Training::abstract_state() const {
  Init shapes({.abstract = true});
  return make_train_state(model_, training_.optimizer, shapes);
}

void Training::start(std::uint64_t seed) {
  Init init({.seed = seed});
  state_ = make_train_state(model_, training_.optimizer, init);
}

float Training::step(const Tensors& batch) {
  Trained result = step_->run(std::move(state_), batch);
  state_ = std::move(result.next);
  return result.loss.item<float>();
}

Tensors random_batch(const Model& model, std::uint64_t seed, std::int64_t step) {
  // Far from the streams of the parameters, whose seed may be the same.
  Init init({.seed = seed ^ (0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>(step + 1))});
  return synthetic_batch(model, init);
}

Tensors abstract_batch(const Model& model) {
  Init shapes({.abstract = true});
  return synthetic_batch(model, shapes);
}

std::string first_difference(const Model& model, const TrainState& a, const TrainState& b) {
  const auto left = named_tensors(model, a), right = named_tensors(model, b);
  for (std::size_t i = 0; i < left.size(); ++i) {
    const Tensor &x = left[i].second, &y = right[i].second;
    if (x.type() != y.type()) return left[i].first;
    const auto bytes = static_cast<std::size_t>(x.type().bytes());
    if (bytes > 0 && std::memcmp(x.storage()->data(), y.storage()->data(), bytes) != 0) return left[i].first;
  }
  return "";
}

}  // namespace tidemark::cli
