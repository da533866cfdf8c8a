// SPDX-License-Identifier: Apache-2.0
#include "tidemark/cli/problem_source.h"

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/compile/compile.h"
#include "tidemark/compile/optimise.h"
#include "tidemark/nn/train.h"
#include "tidemark/nn/zoo.h"

namespace tidemark::cli {

namespace {

Optimizer optimizer_named(const std::string& name) {
  if (name == "adamw") return {.kind = Optimizer::Kind::adamw};
  if (name == "adam") return {.kind = Optimizer::Kind::adam};
  if (name == "sgd") return {.kind = Optimizer::Kind::sgd};
  fail(Error::Kind::usage, "[problem] no optimizer '{}'; one of adamw adam sgd", name);
}

}  // namespace

void ProblemSource::declare(Args& args) {
  args.positional("problem", source_, "problem.json, or a model of the zoo (tidemark models lists them)");
  args.option("--batch", batch_, "For a model: samples in a step");
  args.option("--size", size_, "For a model of images: their height and width");
  args.option("--seq", seq_, "For a model of text: tokens in a sequence");
  args.option("--optimizer", optimizer_, "For a model: adamw, adam or sgd");
  args.option("--model-threads", threads_, "For a model: threads of the kernels it is posed for");
}

plan::Problem ProblemSource::get() const {
  if (source_.ends_with(".json")) return plan::read_problem(read_file(source_));
  const std::vector<std::string>& names = model_names();
  if (std::find(names.begin(), names.end(), source_) == names.end()) {
    fail(Error::Kind::usage, "[problem] '{}' is neither a .json file nor a model; models: {}", source_, join(names, " "));
  }
  for (const auto& [what, n] : {std::pair{"--batch", batch_}, {"--size", size_}, {"--seq", seq_}, {"--model-threads", threads_}}) {
    if (n < 0) fail(Error::Kind::usage, "[problem] {} {} is negative", what, n);
  }
  const Model model = make_model(source_, {.batch = batch_, .size = size_, .seq = seq_});
  const TrainOptions training{.optimizer = optimizer_named(optimizer_)};
  Init shapes({.abstract = true});
  const TrainState state = make_train_state(model, training.optimizer, shapes);
  const Tensors batch = synthetic_batch(model, shapes);
  return posed_problem(train_step(model, training), {.device = cpu({.threads = static_cast<int>(threads_)}), .state = 1, .name = source_}, state, batch);
}

}  // namespace tidemark::cli
