// SPDX-License-Identifier: Apache-2.0
#include "tidemark/cli/training.h"

#include <algorithm>
#include <cstring>

#include "tidemark/base/error.h"
#include "tidemark/cli/terminal.h"
#include "tidemark/compile/compile.h"

namespace tidemark::cli {

struct Training::Step {
  Function<TrainStep> run;
};

namespace {

void expect_room(const Training::Asked& asked, const std::string& name, const char* what, Bytes bytes,
                 const char* cure) {
  const Bytes room = available_memory() - asked.held;
  if (bytes <= room) return;
  fail(Error::Kind::infeasible,
       "[{}] {} of {} take {} vs {} free on this machine{}; what helps: {}; tidemark plan answers without "
       "allocating it",
       asked.verb, what, name, format_bytes(bytes), format_bytes(std::max<Bytes>(room, 0)),
       asked.held > 0 ? fmt::format(" beside {} held for comparison", format_bytes(asked.held)) : "", cure);
}

}  // namespace

Training::Training(const ModelSource& source, const Asked& asked)
    : model_(source.model()), training_(source.training()) {
  const EndAtInterrupt nothing_to_keep;
  expect_room(asked, model_.name, "parameters and optimizer state", state_bytes(),
              "a smaller model (--set), --optimizer sgd");
  step_ = std::make_unique<Step>(
      Step{compile(train_step(model_, training_), source.compile_options(asked.memory, asked.time_limit))});
  compiled_ = &step_->run.plan_for(abstract_state(), abstract_batch(model_));
  expect_room(asked, model_.name, "all values of a step", compiled_->peak_predicted(),
              asked.memory.kind == Budget::Kind::unlimited ? "a --budget, a smaller --batch"
                                                           : "a smaller --budget or --batch");
}

Training::~Training() = default;

TrainState Training::abstract_state() const {
  Init shapes({.abstract = true});
  return make_train_state(model_, training_.optimizer, shapes);
}

Bytes Training::state_bytes() const {
  Bytes bytes = 0;
  for (const auto& [name, tensor] : named_tensors(model_, abstract_state())) bytes += tensor.type().bytes();
  return bytes;
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

std::string describe(const LibraryMemory& libraries) {
  if (!libraries.known) return "unknown: this C library does not tell";
  // What was given back may have been taken before the first step.
  const auto bytes = [](Bytes n) { return (n < 0 ? "-" : "") + format_bytes(n < 0 ? -n : n); };
  return fmt::format("{} kept by the first step, {} by {} looked at since", bytes(libraries.first),
                     bytes(libraries.later), libraries.steps - 1);
}

void write_libraries(JsonWriter& w, const LibraryMemory& libraries) {
  w.key("libraries").begin_object().field("known", libraries.known);
  w.field("steps", std::int64_t{libraries.steps})
      .field("first", libraries.first)
      .field("later", libraries.later);
  w.end_object();
}

}  // namespace tidemark::cli
