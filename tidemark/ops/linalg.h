// Dense linear algebra, Fourier transforms, sorting. Leading axes are batches and broadcast; a right side of one axis is a vector.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ops/operand.h"

namespace tidemark {

TIDEMARK_API Tensor cholesky(
    const Tensor& a, Where where = Where::current());  // lower factor of a symmetric positive definite matrix
struct TriangularOptions {
  bool lower = true, transpose = false, unit_diagonal = false;
};
TIDEMARK_API Tensor triangular_solve(const Tensor& a, const Tensor& b, const TriangularOptions& options = {},
                                     Where where = Where::current());
TIDEMARK_API Tensor solve(const Tensor& a, const Tensor& b,
                          Where where = Where::current());  // LU with partial pivoting

// Complex numbers are pairs of real arrays. Along the last axis, unnormalised forward, 1/n backward.
struct Complex {
  Tensor re, im;
};
TIDEMARK_API Complex fft(const Complex& x, Where where = Where::current());
TIDEMARK_API Complex ifft(const Complex& x, Where where = Where::current());
TIDEMARK_API Complex rfft(const Tensor& x, Where where = Where::current());  // n/2 + 1 frequencies
TIDEMARK_API Tensor irfft(const Complex& x, std::int64_t n, Where where = Where::current());

struct Sorted {
  Tensor values, indices;  // indices i64; equal elements keep their order
};
struct SortOptions {
  bool descending = false;
};
TIDEMARK_API Sorted sort(const Tensor& x, int axis = -1, SortOptions options = {},
                         Where where = Where::current());
TIDEMARK_API Sorted top_k(const Tensor& x, std::int64_t k, int axis = -1, Where where = Where::current());

}  // namespace tidemark
