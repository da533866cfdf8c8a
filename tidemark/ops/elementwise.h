// Element-by-element operations, with NumPy's broadcasting. One formula each (base/scalar.h) for every dtype.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ops/operand.h"

namespace tidemark {

// Binary: tensors of one dtype, or a tensor and a number. Mixed dtypes are an error: cast one.
TIDEMARK_API Tensor operator+(const Operand& a, const Operand& b);
TIDEMARK_API Tensor operator-(const Operand& a, const Operand& b);
TIDEMARK_API Tensor operator*(const Operand& a, const Operand& b);
TIDEMARK_API Tensor operator/(const Operand& a, const Operand& b);
TIDEMARK_API Tensor pow(const Operand& a, const Operand& b);
TIDEMARK_API Tensor minimum(const Operand& a, const Operand& b);
TIDEMARK_API Tensor maximum(const Operand& a, const Operand& b);
// New versions: the old value stays what it was for whoever holds it.
TIDEMARK_API Tensor& operator+=(Tensor& a, const Operand& b);
TIDEMARK_API Tensor& operator-=(Tensor& a, const Operand& b);
TIDEMARK_API Tensor& operator*=(Tensor& a, const Operand& b);
TIDEMARK_API Tensor& operator/=(Tensor& a, const Operand& b);

// Comparisons give bool. Named, since == on handles would read as a condition.
TIDEMARK_API Tensor equal(const Operand& a, const Operand& b);
TIDEMARK_API Tensor not_equal(const Operand& a, const Operand& b);
TIDEMARK_API Tensor operator<(const Operand& a, const Operand& b);
TIDEMARK_API Tensor operator<=(const Operand& a, const Operand& b);
TIDEMARK_API Tensor operator>(const Operand& a, const Operand& b);
TIDEMARK_API Tensor operator>=(const Operand& a, const Operand& b);
TIDEMARK_API Tensor logical_and(const Tensor& a, const Tensor& b, Where where = Where::current());
TIDEMARK_API Tensor logical_or(const Tensor& a, const Tensor& b, Where where = Where::current());
TIDEMARK_API Tensor logical_not(const Tensor& a, Where where = Where::current());

// a where `condition` (bool) is true, else b.
TIDEMARK_API Tensor where(const Tensor& condition, const Operand& a, const Operand& b);
TIDEMARK_API Tensor clamp(const Tensor& x, double low, double high, Where where = Where::current());

TIDEMARK_API Tensor operator-(const Operand& x);
TIDEMARK_API Tensor abs(const Tensor& x, Where where = Where::current());
TIDEMARK_API Tensor sign(const Tensor& x, Where where = Where::current());
TIDEMARK_API Tensor square(const Tensor& x, Where where = Where::current());
TIDEMARK_API Tensor sqrt(const Tensor& x, Where where = Where::current());
TIDEMARK_API Tensor rsqrt(const Tensor& x, Where where = Where::current());
TIDEMARK_API Tensor exp(const Tensor& x, Where where = Where::current());
TIDEMARK_API Tensor expm1(const Tensor& x, Where where = Where::current());
TIDEMARK_API Tensor log(const Tensor& x, Where where = Where::current());
TIDEMARK_API Tensor log1p(const Tensor& x, Where where = Where::current());
TIDEMARK_API Tensor sin(const Tensor& x, Where where = Where::current());
TIDEMARK_API Tensor cos(const Tensor& x, Where where = Where::current());
TIDEMARK_API Tensor tan(const Tensor& x, Where where = Where::current());
TIDEMARK_API Tensor tanh(const Tensor& x, Where where = Where::current());
TIDEMARK_API Tensor sigmoid(const Tensor& x, Where where = Where::current());
TIDEMARK_API Tensor erf(const Tensor& x, Where where = Where::current());
TIDEMARK_API Tensor relu(const Tensor& x, Where where = Where::current());
TIDEMARK_API Tensor gelu(const Tensor& x, Where where = Where::current());       // with erf
TIDEMARK_API Tensor gelu_tanh(const Tensor& x, Where where = Where::current());  // the tanh form
TIDEMARK_API Tensor silu(const Tensor& x, Where where = Where::current());
TIDEMARK_API Tensor softplus(const Tensor& x, Where where = Where::current());
TIDEMARK_API Tensor floor(const Tensor& x, Where where = Where::current());
TIDEMARK_API Tensor round(const Tensor& x, Where where = Where::current());  // half to even
TIDEMARK_API Tensor cast(const Tensor& x, DType dtype, Where where = Where::current());
// The value with no gradient through it.
TIDEMARK_API Tensor stop_gradient(const Tensor& x, Where where = Where::current());

// Constants beside x: of its recorder, so that nothing is allocated while tracing.
TIDEMARK_API Tensor full_like(const Tensor& x, double value, Where where = Where::current());
TIDEMARK_API Tensor full_beside(const Tensor& x, const Type& type, double value,
                                Where where = Where::current());
TIDEMARK_API Tensor zeros_like(const Tensor& x, Where where = Where::current());
TIDEMARK_API Tensor ones_like(const Tensor& x, Where where = Where::current());
// 0, 1, … n-1 beside x.
TIDEMARK_API Tensor iota_beside(const Tensor& x, std::int64_t n, DType dtype, Where where = Where::current());

}  // namespace tidemark
