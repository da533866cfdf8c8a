// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/layers.h"

#include <algorithm>

#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/norm.h"
#include "tidemark/ops/views.h"

namespace tidemark {

Linear make_linear(Init& init, std::int64_t in, std::int64_t out, Biased biased) {
  Linear p;
  p.w = init.fan_in({in, out}, in);
  if (biased.bias) p.b = init.fan_in({out}, in);
  return p;
}

Tensor linear(const Linear& p, const Tensor& x) {
  const Tensor y = matmul(x, p.w);
  return p.b.defined() ? y + p.b : y;
}

Conv make_conv(Init& init, std::int64_t in, std::int64_t out, std::int64_t kernel, const ConvOptions& options,
               Biased biased) {
  Conv p;
  p.options = options;
  p.w = init.he_fan_out({out, in / options.groups, kernel, kernel}, out / options.groups * kernel * kernel);
  if (biased.bias) p.b = init.zeros({out});
  return p;
}

namespace {
Tensor add_channel_bias(const Tensor& y, const Tensor& b) {
  return b.defined() ? y + reshape(b, {1, b.size(0), 1, 1}) : y;
}
}  // namespace

Tensor conv(const Conv& p, const Tensor& x) { return add_channel_bias(conv2d(x, p.w, p.options), p.b); }

ConvTranspose make_conv_transpose(Init& init, std::int64_t in, std::int64_t out, std::int64_t kernel,
                                  const ConvTransposeOptions& options) {
  ConvTranspose p;
  p.options = options;
  p.w = init.fan_in({in, out / options.groups, kernel, kernel}, in * kernel * kernel);
  p.b = init.zeros({out});
  return p;
}

Tensor conv_transpose(const ConvTranspose& p, const Tensor& x) {
  return add_channel_bias(conv_transpose2d(x, p.w, p.options), p.b);
}

Norm make_norm(Init& init, std::int64_t channels, Biased biased) {
  Norm p;
  p.scale = init.ones({channels});
  if (biased.bias) p.shift = init.zeros({channels});
  return p;
}

Tensor layer_norm(const Norm& p, const Tensor& x, double epsilon) {
  return layer_norm(x, p.scale, p.shift, epsilon);
}

RunningStats make_running_stats(Init& init, const Norm& norm) {
  const std::int64_t channels = norm.scale.size(0);
  RunningStats stats;
  stats.mean = init.zeros({channels});
  stats.variance = init.ones({channels});
  return stats;
}

Tensor batch_norm(const Norm& p, RunningStats& stats, const Tensor& x, const BatchNormOptions& options) {
  if (!options.training)
    return batch_norm_inference(x, p.scale, p.shift, stats.mean, stats.variance, options.epsilon);
  const BatchNorm batch = batch_norm_training(x, p.scale, p.shift, options.epsilon);
  const double n = static_cast<double>(x.numel()) / static_cast<double>(std::max<std::int64_t>(1, x.size(1)));
  const double unbiased = n > 1 ? n / (n - 1) : 1;
  const double m = options.momentum;
  stats.mean = stats.mean * (1 - m) + batch.mean * m;
  stats.variance = stats.variance * (1 - m) + batch.variance * (m * unbiased);
  return batch.y;
}

ConvNorm make_conv_norm(Init& init, std::int64_t in, std::int64_t out, std::int64_t kernel,
                        const ConvOptions& options) {
  ConvNorm p;
  p.conv = make_conv(init, in, out, kernel, options, {.bias = false});
  p.norm = make_norm(init, out);
  return p;
}

Tensor conv_norm(const ConvNorm& p, RunningStats& stats, const Tensor& x, const BatchNormOptions& options) {
  return batch_norm(p.norm, stats, conv(p.conv, x), options);
}

Lstm make_lstm(Init& init, std::int64_t in, std::int64_t hidden) {
  Lstm p;
  p.w_in = init.fan_in({in, 4 * hidden}, hidden);
  p.w_hidden = init.fan_in({hidden, 4 * hidden}, hidden);
  p.b = init.fan_in({4 * hidden}, hidden);
  return p;
}

LstmState lstm_cell(const Lstm& p, const Tensor& projected, const LstmState& state) {
  const Tensor gates = projected + matmul(state.hidden, p.w_hidden);
  const Tensors g = split(gates, 4, -1);
  LstmState next;
  next.cell = sigmoid(g[1]) * state.cell + sigmoid(g[0]) * tanh(g[2]);
  next.hidden = sigmoid(g[3]) * tanh(next.cell);
  return next;
}

Tensor lstm(const Lstm& p, const Tensor& x, LstmState& state) {
  // Steps as rows of one matrix: what they are split from, and their gradients put together again, are the operands of
  // one product each.
  const std::int64_t steps = x.size(0), batch = x.size(1);
  const Tensors projected =
      split(matmul(reshape(x, {steps * batch, x.size(2)}), p.w_in) + p.b, static_cast<int>(steps), 0);
  Tensors hidden;
  hidden.reserve(projected.size());
  for (const Tensor& step : projected) {
    state = lstm_cell(p, step, state);
    hidden.push_back(state.hidden);
  }
  return reshape(concat(hidden, 0), {steps, batch, state.hidden.size(1)});
}

}  // namespace tidemark
