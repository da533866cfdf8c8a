// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/rates.h"

#include <algorithm>
#include <numbers>

#include "tidemark/ops/elementwise.h"

namespace tidemark {
namespace {

// How far the decay has come, in [0, 1], and the share of the rate that warm-up lets through.
struct Progress {
  Tensor decay, warm;
};
Progress progress(const Tensor& step, const WarmupOptions& o) {
  const auto warmup = static_cast<double>(o.warmup);
  const auto rest = static_cast<double>(std::max<std::int64_t>(1, o.total - o.warmup));
  return {clamp((step - warmup) / rest, 0, 1), minimum((step + 1) / std::max(1.0, warmup), 1)};
}

}  // namespace

RateSchedule constant_rate(double rate) {
  return [rate](const Tensor& step) { return full_like(step, rate); };
}

RateSchedule step_decay(double rate, double factor, std::int64_t every) {
  return [=](const Tensor& step) { return rate * pow(factor, floor(step / static_cast<double>(every))); };
}

RateSchedule warmup_cosine(double rate, const WarmupOptions& options) {
  return [=](const Tensor& step) {
    const auto [decay, warm] = progress(step, options);
    const Tensor share = options.floor + (1 - options.floor) * 0.5 * (1 + cos(decay * std::numbers::pi));
    return rate * warm * share;
  };
}

RateSchedule warmup_linear(double rate, const WarmupOptions& options) {
  return [=](const Tensor& step) {
    const auto [decay, warm] = progress(step, options);
    return rate * warm * (1 - (1 - options.floor) * decay);
  };
}

}  // namespace tidemark
