// A step allocates nothing of ours: every malloc of the process is counted while an executor runs.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/contract/count.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

struct Params {
  Tensor conv, scale, shift, w;
};

Tensor loss(const Params& p, const Tensor& x, const Tensor& labels) {
  const Tensor c = conv2d(x, p.conv, {.padding = {1, 1}});
  const Tensor n = relu(batch_norm_training(c, p.scale, p.shift).y);
  const Tensor f = mean(n, {2, 3});
  return cross_entropy(matmul(f, p.w), labels);
}

TEST(Allocation, AStepAllocatesNothingOfOurs) {
  const Params p{full({8, 3, 3, 3}, 0.1), ones({8}), zeros({8}), full({8, 4}, 0.2)};
  const Tensor x = full({4, 3, 16, 16}, 0.5);
  const Tensor labels = tensor<std::int64_t>({0, 1, 2, 3}, {4});
  auto step = compile(value_and_grad(loss), {.device = cpu({.threads = 2})});
  const Compiled& c = step.plan_for(p, x, labels);
  Executor executor(std::make_shared<const Program>(c.program()), cpu({.threads = 2}));
  std::vector<void*> residents;
  for (const Tensor& t : {p.conv, p.scale, p.shift, p.w, x, labels}) residents.push_back(t.storage()->data());
  ASSERT_EQ(residents.size(), c.program().residents.size());
  executor.run(residents);  // libraries may set themselves up once
  executor.run(residents);
  const Allocations made = count_allocations([&] { executor.run(residents); });
  // oneDNN makes a few small allocations inside its calls; ours are none, and nothing is above 4 KiB.
  EXPECT_LE(made.largest, 4096) << made.calls << " allocations";
  RecordProperty("library_allocations", static_cast<int>(made.calls));
}

TEST(Allocation, ElementwiseProgramsAllocateNothingAtAll) {
  auto f = compile([](const Tensor& x) { return sum(tanh(x * 2.0) + exp(x), {1}); }, {.device = cpu({.threads = 2})});
  const Tensor x = full({64, 1000}, 0.5);
  const Compiled& c = f.plan_for(x);
  Executor executor(std::make_shared<const Program>(c.program()), cpu({.threads = 2}));
  const std::vector<void*> residents{x.storage()->data()};
  executor.run(residents);
  EXPECT_EQ(count_allocations([&] { executor.run(residents); }).calls, 0);
}

}  // namespace
}  // namespace tidemark
