// Fast 2-d convolutions, channels last or first: oneDNN where it is at full speed, matrix products for
// kernels of one pixel, vectors over channels for depthwise ones, and our packed product for the rest. Null:
// "not for this".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/kernels/conv_shape.h"

namespace tidemark::kernels {

std::unique_ptr<Kernel> conv2d(const KernelSpec& spec);
std::unique_ptr<Kernel> conv2d_backward_data(const KernelSpec& spec);
std::unique_ptr<Kernel> conv2d_backward_weights(const KernelSpec& spec);

// The ways to do it, each for the convolutions it is for.
std::unique_ptr<Kernel> pointwise_conv(const Conv& conv, ConvResult result, int threads);
std::unique_ptr<Kernel> onednn_conv(const Conv& conv, ConvResult result, int threads);
std::unique_ptr<Kernel> depthwise_conv(const Conv& conv, ConvResult result, int threads);
std::unique_ptr<Kernel> packed_conv(const Conv& conv, ConvResult result, int threads);

}  // namespace tidemark::kernels
