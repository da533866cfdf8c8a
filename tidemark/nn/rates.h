// Learning-rate schedules: scalar tensor code of the step count, so that a compiled step computes its own rate.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tidemark/ir/tensor.h"

namespace tidemark {

// From the number of updates made so far (a scalar) to the rate of the next one.
using RateSchedule = std::function<Tensor(const Tensor& step)>;

TIDEMARK_API RateSchedule constant_rate(double rate);
// rate * factor^floor(step / every).
TIDEMARK_API RateSchedule step_decay(double rate, double factor, std::int64_t every);
struct WarmupOptions {
  std::int64_t warmup = 0, total = 1;  // steps
  double floor = 0;                    // where it ends, as a fraction of the rate
};
// Linear from rate / warmup, in step 0, over `warmup` steps, then a half cosine (Loshchilov & Hutter 2017), or a line, down to the floor at
// `total`.
TIDEMARK_API RateSchedule warmup_cosine(double rate, const WarmupOptions& options);
TIDEMARK_API RateSchedule warmup_linear(double rate, const WarmupOptions& options);

}  // namespace tidemark
