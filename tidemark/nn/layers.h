// Layers: a struct of parameters, a function that makes one, a function that applies it. Nothing is hidden: running
// statistics are arguments and get new versions, randomness comes from a key. Errors and values have the line of whoever applies one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/nn/init.h"
#include "tidemark/ops/conv.h"

namespace tidemark {

struct Biased {
  bool bias = true;
};

// y = x w + b, w (in, out).
struct Linear {
  Tensor w, b;
};
TIDEMARK_API Linear make_linear(Init& init, std::int64_t in, std::int64_t out, Biased biased = {});
TIDEMARK_API Tensor linear(const Linear& p, const Tensor& x, Where where = Where::current());

// w (out, in / groups, kh, kw).
struct Conv {
  Tensor w, b;
  ConvOptions options;
};
TIDEMARK_API Conv make_conv(Init& init, std::int64_t in, std::int64_t out, std::int64_t kernel,
                            const ConvOptions& options = {}, Biased biased = {});
TIDEMARK_API Tensor conv(const Conv& p, const Tensor& x, Where where = Where::current());

// w (in, out, kh, kw).
struct ConvTranspose {
  Tensor w, b;
  ConvTransposeOptions options;
};
TIDEMARK_API ConvTranspose make_conv_transpose(Init& init, std::int64_t in, std::int64_t out,
                                               std::int64_t kernel, const ConvTransposeOptions& options = {});
TIDEMARK_API Tensor conv_transpose(const ConvTranspose& p, const Tensor& x, Where where = Where::current());

// Of layer, batch and group normalisation: scale 1, shift 0 to begin with.
struct Norm {
  Tensor scale, shift;
};
TIDEMARK_API Norm make_norm(Init& init, std::int64_t channels, Biased biased = {});
TIDEMARK_API Tensor layer_norm(const Norm& p, const Tensor& x, double epsilon = 1e-5,
                               Where where = Where::current());

// Running statistics of one batch normalisation. Not parameters: no gradient goes to them.
struct RunningStats {
  Tensor mean, variance;
};
TIDEMARK_API RunningStats make_running_stats(Init& init, const Norm& norm);
struct BatchNormOptions {
  bool training = true;
  double epsilon = 1e-5;
  double momentum = 0.1;  // of the new batch, as torch.nn.BatchNorm2d
};
// Training: with the batch's own statistics, and `stats` becomes its next version (variance unbiased). Else: with
// `stats`.
TIDEMARK_API Tensor batch_norm(const Norm& p, RunningStats& stats, const Tensor& x,
                               const BatchNormOptions& options = {}, Where where = Where::current());

// A convolution without bias and its batch normalisation.
struct ConvNorm {
  Conv conv;
  Norm norm;
};
TIDEMARK_API ConvNorm make_conv_norm(Init& init, std::int64_t in, std::int64_t out, std::int64_t kernel,
                                     const ConvOptions& options = {});
TIDEMARK_API Tensor conv_norm(const ConvNorm& p, RunningStats& stats, const Tensor& x,
                              const BatchNormOptions& options, Where where = Where::current());

// One step of an LSTM; `projected` = x w_in + b (batch, 4 hidden), gates in the order input, forget, cell, output, so
// that the products of all steps' inputs can be one.
struct Lstm {
  Tensor w_in, w_hidden, b;
};
struct LstmState {
  Tensor hidden, cell;
};
TIDEMARK_API Lstm make_lstm(Init& init, std::int64_t in, std::int64_t hidden);
TIDEMARK_API LstmState lstm_cell(const Lstm& p, const Tensor& projected, const LstmState& state,
                                 Where where = Where::current());
// x (T, B, in) -> (T, B, hidden), unrolled; `state` becomes the last one.
TIDEMARK_API Tensor lstm(const Lstm& p, const Tensor& x, LstmState& state, Where where = Where::current());

}  // namespace tidemark
