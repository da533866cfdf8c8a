// Convolutions and pooling over (N, C, H, W). Shapes are NCHW; the layout pass chooses how they lie in
// memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "tidemark/ops/operand.h"

namespace tidemark {

using Pair = std::array<std::int64_t, 2>;

struct ConvOptions {
  Pair stride{1, 1}, padding{0, 0}, dilation{1, 1};
  std::int64_t groups = 1;
};
// weight (O, C / groups, kh, kw).
TIDEMARK_API Tensor conv2d(const Tensor& x, const Tensor& weight, const ConvOptions& options = {},
                           Where where = Where::current());

struct ConvTransposeOptions {
  Pair stride{1, 1}, padding{0, 0}, output_padding{0, 0}, dilation{1, 1};
  std::int64_t groups = 1;
};
// weight (C, O / groups, kh, kw), as torch.nn.functional.conv_transpose2d.
TIDEMARK_API Tensor conv_transpose2d(const Tensor& x, const Tensor& weight,
                                     const ConvTransposeOptions& options = {},
                                     Where where = Where::current());

struct PoolOptions {
  Pair kernel{2, 2};
  Pair stride{0, 0};  // 0: as the kernel
  Pair padding{0, 0};
  bool count_include_pad = true;  // avg_pool2d
};
TIDEMARK_API Tensor max_pool2d(const Tensor& x, const PoolOptions& options, Where where = Where::current());
// Also the flat index (i32) of each maximum within its H x W plane, which max_unpool2d takes.
TIDEMARK_API std::pair<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, const PoolOptions& options,
                                                               Where where = Where::current());
TIDEMARK_API Tensor max_unpool2d(const Tensor& x, const Tensor& indices, Pair output_size,
                                 Where where = Where::current());
TIDEMARK_API Tensor avg_pool2d(const Tensor& x, const PoolOptions& options, Where where = Where::current());
// Windows that share the input out: output i reads from floor(i n / out) up to ceil((i + 1) n / out).
TIDEMARK_API Tensor adaptive_avg_pool2d(const Tensor& x, Pair output_size, Where where = Where::current());
TIDEMARK_API Tensor adaptive_max_pool2d(const Tensor& x, Pair output_size, Where where = Where::current());

}  // namespace tidemark
