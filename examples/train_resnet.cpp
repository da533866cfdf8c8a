// A small ResNet, trained on drawn shapes, then tested with its running statistics on shapes it has not seen.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>

#include "tidemark/nn/train.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/store/image_data.h"
#include "tidemark/tidemark.h"

using namespace tidemark;

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 120;
  constexpr std::int64_t kBatch = 32, kSize = 32, kTests = 256;
  ModelOptions small{.batch = kBatch, .size = kSize, .sizes = {{"width", 16}, {"classes", kShapeClasses}}};
  const Model resnet = make_model("resnet18", small);
  const TrainOptions options{.optimizer = {.kind = Optimizer::Kind::sgd,
                                           .momentum = 0.9,
                                           .weight_decay = 1e-4,
                                           .decay_from_rank = 2},
                             .rate = warmup_cosine(0.05, {.warmup = 5, .total = steps})};
  Init init({.seed = 1});
  TrainState state = make_train_state(resnet, options.optimizer, init);
  const auto batch_of = [](std::int64_t count, std::uint64_t seed, int step) {
    const ImageBatch b = shape_images(count, kSize, seed, static_cast<std::uint64_t>(step));
    return Tensors{tensor(b.images, {count, 3, kSize, kSize}), tensor(b.labels, {count})};
  };
  auto train = compile(train_step(resnet, options), {.memory = 0.7, .state = 1, .name = "resnet"});
  std::printf("%ld parameters, %ld kinds of shapes\n", static_cast<long>(resnet.parameter_count()),
              static_cast<long>(kShapeClasses));

  float first = 0, last = 0;
  for (int step = 0; step < steps; ++step) {
    Trained result = train(std::move(state), batch_of(kBatch, 1, step));
    state = std::move(result.next);
    last = result.loss.item<float>();
    if (step == 0) first = last;
    if (step % 20 == 0 || step + 1 == steps) std::printf("step %4d   loss %.3f\n", step, last);
  }
  const Compiled& plan = train.plan_for(state, batch_of(kBatch, 1, 0));
  std::printf("peak: %s predicted, %s measured\n", format_bytes(plan.peak_predicted()).c_str(),
              format_bytes(plan.peak_measured()).c_str());

  small.batch = kTests;
  small.training = false;
  const Tensors unseen = batch_of(kTests, 2, 0);
  const Tensor guess = argmax(make_model("resnet18", small).logits(state.params, state.state, unseen), 1);
  const float right = mean(cast(equal(guess, unseen[1]), DType::f32)).item<float>();
  std::printf("of %ld new shapes %.0f %% are recognised (chance: %.0f %%)\n", static_cast<long>(kTests),
              100.0 * static_cast<double>(right), 100.0 / kShapeClasses);
  if (steps >= 100 && (last > 0.5f * first || right < 0.5f)) {
    std::printf("the training did not go as it should\n");
    return 1;
  }
}
