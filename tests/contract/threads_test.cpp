// Convolutions sum gradients of weights in an order that depends on the number of threads. For each number of them, a step has the bits
// of keeping everything with as many, whatever its budget and from call to call.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/contract/zoo_cases.h"

namespace tidemark {
namespace {

TEST(Threads, EveryNumberOfThemHasItsBitsUnderEveryBudget) {
  for (const ModelCase& c : zoo_cases()) {
    if (std::string_view(c.model) != "resnet18" && std::string_view(c.model) != "mobilenet-v2") continue;
    const TrainSetting setting(c);
    for (const int threads : {1, 2}) {
      const auto bits = [&](const Budget& memory) {
        auto f = compile(setting.step, {.memory = memory,
                                        .device = cpu({.threads = threads}),
                                        .state = 1,
                                        .time_limit = 0.2,
                                        .correct = false});
        return setting.after(f, 2);
      };
      const std::vector<float> kept = bits({});
      EXPECT_EQ(bits({}), kept) << c.model << ", " << threads << " threads, once more";
      for (const Budget& memory : {Budget(0.6), Budget::minimum()})
        EXPECT_EQ(bits(memory), kept) << c.model << ", " << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace tidemark
