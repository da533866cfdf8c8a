// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/gemm.h"

#include "tidemark/kernels/cpu/packed_product.h"
#include "tidemark/kernels/product.h"

namespace tidemark::kernels {
namespace {

template <typename S>
std::unique_ptr<Kernel> prepare_gemm(const KernelSpec& spec) {
  using T = std::conditional_t<std::is_same_v<S, double>, double, float>;
  const Product p = product_of(spec);
  const PackedProduct<T> product(p.m, p.n, p.k, !std::is_same_v<S, T>);
  return make_kernel(product.workspace(), [p, product, threads = spec.threads](const Operands& o) {
    for (std::int64_t i = 0; i < p.batches(); ++i) {
      const auto offset = p.offsets(i);
      const S* const a = o.input<S>(0) + offset[0];
      const S* const b = o.input<S>(1) + offset[1];
      S* const c = o.output<S>(0) + offset[2];
      product.run(
          threads, o.workspace,
          [&](std::int64_t row, std::int64_t rows, std::int64_t begin, std::int64_t depth, T* to) {
            pack_matrix<T, kTileRows>(a, p.a_m, p.a_k, row, rows, begin, depth, to);
          },
          [&](std::int64_t column, std::int64_t columns, std::int64_t begin, std::int64_t depth, T* to) {
            pack_matrix<T, kTileColumns<T>>(b, p.b_n, p.b_k, column, columns, begin, depth, to);
          },
          [&](const Panels<T>& panels) { put_tile(c, p.c_m, panels); });
    }
  });
}

}  // namespace

std::unique_ptr<Kernel> gemm(const KernelSpec& spec) {
  if (product_of(spec).c_n != 1) return nullptr;
  switch (spec.out[0].type.dtype) {
    case DType::f64:
      return prepare_gemm<double>(spec);
    case DType::f32:
      return prepare_gemm<float>(spec);
    case DType::bf16:
      return prepare_gemm<Bf16>(spec);
    case DType::f16:
      return prepare_gemm<F16>(spec);
    default:
      return nullptr;
  }
}

}  // namespace tidemark::kernels
