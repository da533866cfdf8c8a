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

Tensor linear(const Linear& p, const Tensor& x, Where where) {
  const Called called("linear", where);
  const Tensor y = matmul(x, p.w, where);
  return p.b.defined() ? Operand(y, where) + p.b : y;
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
Tensor add_channel_bias(const Tensor& y, const Tensor& b, Where where) {
  return b.defined() ? Operand(y, where) + reshape(b, {1, b.size(0), 1, 1}, where) : y;
}
}  // namespace

Tensor conv(const Conv& p, const Tensor& x, Where where) {
  const Called called("conv", where);
  return add_channel_bias(conv2d(x, p.w, p.options, where), p.b, where);
}

ConvTranspose make_conv_transpose(Init& init, std::int64_t in, std::int64_t out, std::int64_t kernel,
                                  const ConvTransposeOptions& options) {
  ConvTranspose p;
  p.options = options;
  p.w = init.fan_in({in, out / options.groups, kernel, kernel}, in * kernel * kernel);
  p.b = init.zeros({out});
  return p;
}

Tensor conv_transpose(const ConvTranspose& p, const Tensor& x, Where where) {
  const Called called("conv_transpose", where);
  return add_channel_bias(conv_transpose2d(x, p.w, p.options, where), p.b, where);
}

Norm make_norm(Init& init, std::int64_t channels, Biased biased) {
  Norm p;
  p.scale = init.ones({channels});
  if (biased.bias) p.shift = init.zeros({channels});
  return p;
}

Tensor layer_norm(const Norm& p, const Tensor& x, double epsilon, Where where) {
  return layer_norm(x, p.scale, p.shift, epsilon, where);
}

RunningStats make_running_stats(Init& init, const Norm& norm) {
  const std::int64_t channels = norm.scale.size(0);
  RunningStats stats;
  stats.mean = init.zeros({channels});
  stats.variance = init.ones({channels});
  return stats;
}

Tensor batch_norm(const Norm& p, RunningStats& stats, const Tensor& x, const BatchNormOptions& options,
                  Where where) {
  const Called called("batch_norm", where);
  if (!options.training)
    return batch_norm_inference(x, p.scale, p.shift, stats.mean, stats.variance, options.epsilon, where);
  const BatchNorm batch = batch_norm_training(x, p.scale, p.shift, options.epsilon, where);
  const double n = static_cast<double>(x.numel()) / static_cast<double>(std::max<std::int64_t>(1, x.size(1)));
  const double unbiased = n > 1 ? n / (n - 1) : 1;
  const double m = options.momentum;
  const auto mixed = [&](const Tensor& old, const Tensor& fresh, double weight) {
    return Operand(Operand(old, where) * (1 - m), where) + Operand(fresh, where) * weight;
  };
  stats.mean = mixed(stats.mean, batch.mean, m);
  stats.variance = mixed(stats.variance, batch.variance, m * unbiased);
  return batch.y;
}

ConvNorm make_conv_norm(Init& init, std::int64_t in, std::int64_t out, std::int64_t kernel,
                        const ConvOptions& options) {
  ConvNorm p;
  p.conv = make_conv(init, in, out, kernel, options, {.bias = false});
  p.norm = make_norm(init, out);
  return p;
}

Tensor conv_norm(const ConvNorm& p, RunningStats& stats, const Tensor& x, const BatchNormOptions& options,
                 Where where) {
  return batch_norm(p.norm, stats, conv(p.conv, x, where), options, where);
}

Lstm make_lstm(Init& init, std::int64_t in, std::int64_t hidden) {
  Lstm p;
  p.w_in = init.fan_in({in, 4 * hidden}, hidden);
  p.w_hidden = init.fan_in({hidden, 4 * hidden}, hidden);
  p.b = init.fan_in({4 * hidden}, hidden);
  return p;
}

LstmState lstm_cell(const Lstm& p, const Tensor& projected, const LstmState& state, Where where) {
  const Called called("lstm_cell", where);
  const auto times = [&](const Tensor& a, const Tensor& b) { return Operand(a, where) * b; };
  const Tensor gates = Operand(projected, where) + matmul(state.hidden, p.w_hidden, where);
  const Tensors g = split(gates, 4, -1, where);
  LstmState next;
  next.cell = Operand(times(sigmoid(g[1], where), state.cell), where) +
              times(sigmoid(g[0], where), tanh(g[2], where));
  next.hidden = times(sigmoid(g[3], where), tanh(next.cell, where));
  return next;
}

Tensor lstm(const Lstm& p, const Tensor& x, LstmState& state, Where where) {
  const Called called("lstm", where);
  // Steps as rows of one matrix: what they are split from, and their gradients put together again, are the operands of
  // one product each.
  const std::int64_t steps = x.size(0), batch = x.size(1);
  const Tensor all = matmul(reshape(x, {steps * batch, x.size(2)}, where), p.w_in, where);
  const Tensors projected = split(Operand(all, where) + p.b, static_cast<int>(steps), 0, where);
  Tensors hidden;
  hidden.reserve(projected.size());
  for (const Tensor& step : projected) {
    state = lstm_cell(p, step, state, where);
    hidden.push_back(state.hidden);
  }
  return reshape(concat(hidden, 0, where), {steps, batch, state.hidden.size(1)}, where);
}

}  // namespace tidemark
