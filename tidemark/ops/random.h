// Random arrays from a counter-based generator (Philox): the key is a value, so running the op again gives
// the same bits. Each op draws from a stream of its own: draws are counted on the key tensor, so a key made anew with the
// same numbers repeats them, while two draws from one key differ.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ops/operand.h"

namespace tidemark {

// `key`: i64 (2): {seed, step}.
TIDEMARK_API Tensor random_uniform(const Tensor& key, const Shape& shape, double low = 0, double high = 1,
                                   DType dtype = DType::f32, Where where = Where::current());
TIDEMARK_API Tensor random_normal(const Tensor& key, const Shape& shape, double mean = 0,
                                  double deviation = 1, DType dtype = DType::f32,
                                  Where where = Where::current());
// Zeroes each element with probability `rate`, scales the rest by 1 / (1 - rate).
TIDEMARK_API Tensor dropout(const Tensor& x, double rate, const Tensor& key, Where where = Where::current());

}  // namespace tidemark
