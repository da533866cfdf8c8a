// Training steps of any size, made by rule: GPT-like, convolutional, U-shaped, and random layered graphs. For the scaling section of the bench.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/problem.h"

namespace tidemark::bench {

// About `tasks` tasks each.
plan::Problem gpt_like(std::int64_t tasks);
plan::Problem convolutional(std::int64_t tasks);
plan::Problem u_shaped(std::int64_t tasks);
plan::Problem random_layered(std::int64_t tasks, std::uint64_t seed = 1);

}  // namespace tidemark::bench
