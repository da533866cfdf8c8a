// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/low_rank.h"

#include <algorithm>
#include <cmath>

#include "tidemark/base/parallel.h"
#include "tidemark/base/random.h"
#include "tidemark/kernels/cpu/matmul.h"

namespace tidemark::kernels {
namespace {

Value matrix(std::int64_t rows, std::int64_t columns, bool turned = false) {
  Value v{.type = {{rows, columns}, DType::f32}};
  if (turned) v.layout.strides = {1, rows};
  return v;
}
std::shared_ptr<const Kernel> product(Value a, Value b, int threads) {
  KernelSpec spec{.in = {a, b}, .threads = threads};
  spec.out = {matrix(a.type.shape[0], b.type.shape[1])};
  return matmul(spec);
}
void multiply(const Kernel& kernel, const float* a, const float* b, float* c, void* workspace) {
  const void* in[] = {a, b};
  void* out[] = {c};
  kernel.run({in, out, workspace});
}

// The columns of q (rows by rank, row-major) made orthonormal, by Gram and Schmidt twice over, which is enough (Giraud et al. 2005).
// A column that the others span becomes zero.
void orthonormalise(float* q, std::int64_t rows, std::int64_t rank) {
  for (std::int64_t j = 0; j < rank; ++j) {
    double length = 0;
    for (std::int64_t i = 0; i < rows; ++i) length += static_cast<double>(q[i * rank + j]) * q[i * rank + j];
    const double before = length;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t k = 0; k < j; ++k) {
        double dot = 0;
        for (std::int64_t i = 0; i < rows; ++i) dot += static_cast<double>(q[i * rank + k]) * q[i * rank + j];
        for (std::int64_t i = 0; i < rows; ++i) q[i * rank + j] -= static_cast<float>(dot) * q[i * rank + k];
      }
    }
    length = 0;
    for (std::int64_t i = 0; i < rows; ++i) length += static_cast<double>(q[i * rank + j]) * q[i * rank + j];
    const auto scale = static_cast<float>(length > 1e-10 * before ? 1 / std::sqrt(length) : 0);
    for (std::int64_t i = 0; i < rows; ++i) q[i * rank + j] *= scale;
  }
}

}  // namespace

// Halko, Martinsson, Tropp (2011), algorithm 4.1: the range of x is nearly that of x times random signs; q spans it, b = q' x.
std::optional<Codec> low_rank_codec(const Shape& shape, int threads) {
  if (shape.rank() == 0 || shape.numel() == 0) return std::nullopt;
  const std::int64_t columns = shape[-1], rows = shape.numel() / columns;
  const std::int64_t rank = std::max<std::int64_t>(std::min(rows, columns) / 8, 1);
  const std::shared_ptr<const Kernel> sketch = product(matrix(rows, columns), matrix(columns, rank), threads),
                                      wide =
                                          product(matrix(rank, rows, true), matrix(rows, columns), threads),
                                      back = product(matrix(rows, rank), matrix(rank, columns), threads);
  if (!sketch || !wide || !back) return std::nullopt;
  std::vector<float> signs(static_cast<std::size_t>(columns * rank));
  Rng rng(1);
  for (float& s : signs) s = rng.below(2) == 0 ? -1.0f : 1.0f;
  Codec c{.slot = 4 * rank * (rows + columns)};
  // Two products and Gram and Schmidt between them; one product.
  c.encode_flops = static_cast<double>(rank) * (4.0 + 4.0 * static_cast<double>(rank) / static_cast<double>(columns));
  c.decode_flops = 2.0 * static_cast<double>(rank);
  c.encode = make_kernel(std::max(sketch->workspace(), wide->workspace()), [=](const Operands& o) {
    auto* q = o.output<float>(0);
    multiply(*sketch, o.input<float>(0), signs.data(), q, o.workspace);
    orthonormalise(q, rows, rank);
    multiply(*wide, q, o.input<float>(0), q + rows * rank, o.workspace);
  });
  c.decode = make_kernel(back->workspace(), [=](const Operands& o) {
    const auto* q = o.input<float>(0);
    multiply(*back, q, q + rows * rank, o.output<float>(0), o.workspace);
  });
  return c;
}

}  // namespace tidemark::kernels
