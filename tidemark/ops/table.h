// The op table: every op there is. Docs, tests, the text form and Python are derived from it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "tidemark/ir/op.h"

namespace tidemark {

// In the order of the folders' files; stable.
TIDEMARK_API const std::vector<const Op*>& all_ops();
TIDEMARK_API const Op* find_op(std::string_view name);  // nullptr where there is none

// One list per file of ops, put together in table.cpp.
using OpList = std::span<const Op* const>;
OpList elementwise_ops();
OpList fused_ops();
OpList reduce_ops();
OpList scan_axis_ops();
OpList full_ops();
OpList view_ops();
OpList move_ops();
OpList gather_ops();
OpList matmul_ops();
OpList conv_ops();
OpList pool_ops();
OpList norm_ops();
OpList batch_norm_ops();
OpList softmax_ops();
OpList cross_entropy_ops();
OpList attention_ops();
OpList random_ops();
OpList linalg_ops();
OpList fft_ops();
OpList sort_ops();
OpList assign_ops();
OpList loop_ops();

}  // namespace tidemark
