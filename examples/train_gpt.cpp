// A small GPT, trained on the text of this machine, inside half the memory that keeping everything takes.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>

#include "tidemark/nn/train.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/store/text_data.h"
#include "tidemark/tidemark.h"

using namespace tidemark;

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 200;
  constexpr std::int64_t kBatch = 16, kTokens = 64;
  const TextData text = find_text();
  const Model gpt = make_model(
      "gpt2-124m",
      {.batch = kBatch,
       .seq = kTokens,
       .sizes = {
           {"vocab", kByteVocabulary}, {"positions", kTokens}, {"width", 128}, {"depth", 4}, {"heads", 4}}});
  const TrainOptions options{.optimizer = {.weight_decay = 0.01, .decay_from_rank = 2},
                             .rate = warmup_cosine(3e-3, {.warmup = 10, .total = steps, .floor = 0.1}),
                             .clip_norm = 1};
  Init init({.seed = 1});
  TrainState state = make_train_state(gpt, options.optimizer, init);
  const auto batch_of = [&](int step) {
    const TokenBatch b = token_batch(text, kBatch, kTokens, 1, static_cast<std::uint64_t>(step));
    return Tensors{tensor(b.tokens, {kBatch, kTokens}), tensor(b.labels, {kBatch, kTokens})};
  };
  auto train = compile(train_step(gpt, options), {.memory = 0.5, .state = 1, .name = "gpt"});
  auto keep_all = compile(train_step(gpt, options), {.state = 1, .name = "gpt"});
  std::printf("%ld parameters, %zu bytes of text from %s\n", static_cast<long>(gpt.parameter_count()),
              text.text.size(), text.source.c_str());

  float first = 0, last = 0;
  for (int step = 0; step < steps; ++step) {
    Trained result = train(std::move(state), batch_of(step));
    state = std::move(result.next);
    last = result.loss.item<float>();
    if (step == 0) first = last;
    if (step % 20 == 0 || step + 1 == steps) std::printf("step %4d   loss %.3f\n", step, last);
  }
  const Compiled& plan = train.plan_for(state, batch_of(0));
  std::printf("peak: %s predicted, %s measured; keeping everything: %s\n",
              format_bytes(plan.peak_predicted()).c_str(), format_bytes(plan.peak_measured()).c_str(),
              format_bytes(keep_all.plan_for(state, batch_of(0)).peak_predicted()).c_str());
  if (steps >= 100 && last > 0.6f * first) {
    std::printf("the loss did not fall as it should\n");
    return 1;
  }
}
