// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/ref/matmul.h"

#include "tidemark/kernels/accumulate.h"
#include "tidemark/kernels/product.h"

namespace tidemark::kernels {
namespace {

template <typename T>
void multiply(const Product& p, const T* a, const T* b, T* c) {
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      Accumulator<T> sum = 0;
      for (std::int64_t l = 0; l < p.k; ++l) {
        sum += static_cast<Accumulator<T>>(load(a[i * p.a_m + l * p.a_k])) *
               static_cast<Accumulator<T>>(load(b[l * p.b_k + j * p.b_n]));
      }
      c[i * p.c_m + j * p.c_n] = store<T>(sum);
    }
  }
}

}  // namespace

std::unique_ptr<Kernel> matmul_reference(const KernelSpec& spec) {
  return dispatch(spec.out[0].type.dtype, [&]<typename T>() -> std::unique_ptr<Kernel> {
    if constexpr (std::is_same_v<T, bool>) {
      return nullptr;
    } else {
      return make_kernel(0, [p = product_of(spec)](const Operands& o) {
        for (std::int64_t i = 0; i < p.batches(); ++i) {
          const auto [a, b, c] = p.offsets(i);
          multiply(p, o.input<T>(0) + a, o.input<T>(1) + b, o.output<T>(0) + c);
        }
      });
    }
  });
}

}  // namespace tidemark::kernels
