// Kernels that move elements: strided copies, joins, padding. Called by ops/views.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels {

// Copies `count` boxes, each between two strided places; the pieces of one output never overlap.
struct Box {
  Shape shape;
  int input = 0, output = 0;
  std::vector<std::int64_t> from, to;           // strides
  std::int64_t from_offset = 0, to_offset = 0;  // elements
};
std::unique_ptr<Kernel> copy_boxes(const std::vector<Box>& boxes, DType dtype, int threads);
// The same after output 0, dense and of `numel` elements, has been filled.
std::unique_ptr<Kernel> fill_and_copy(const std::vector<Box>& boxes, DType dtype, int threads,
                                      std::int64_t numel, double value);

}  // namespace tidemark::kernels
