// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/gemm.h"

#include <algorithm>

#include "tidemark/base/parallel.h"
#include "tidemark/kernels/accumulate.h"
#include "tidemark/kernels/cpu/register_tile.h"
#include "tidemark/kernels/product.h"

namespace tidemark::kernels {
namespace {

constexpr std::int64_t kDepth = 256;        // of a block of k: a panel of b stays in the first cache
constexpr std::int64_t kRowPanels = 8;      // panels of a, and
constexpr std::int64_t kColumnPanels = 16;  // of b, that one task multiplies
constexpr std::int64_t kPackGrain = 8;      // panels per packing task

std::int64_t panels(std::int64_t size, std::int64_t width) { return (size + width - 1) / width; }

// Panels of `width` rows of x (rows x depth), each depth x width, zeros behind the last row.
template <typename T, typename S>
void pack(const S* x, std::int64_t rows, std::int64_t depth, std::int64_t row_stride,
          std::int64_t depth_stride, std::int64_t width, std::int64_t first, std::int64_t last, T* out) {
  for (std::int64_t panel = first; panel < last; ++panel) {
    T* to = out + panel * width * depth;
    const std::int64_t count = std::min(width, rows - panel * width);
    const S* from = x + panel * width * row_stride;
    if (row_stride == 1) {
      for (std::int64_t l = 0; l < depth; ++l) {
        for (std::int64_t i = 0; i < count; ++i)
          to[l * width + i] = static_cast<T>(from[l * depth_stride + i]);
        for (std::int64_t i = count; i < width; ++i) to[l * width + i] = 0;
      }
    } else {
      for (std::int64_t i = 0; i < count; ++i) {
        for (std::int64_t l = 0; l < depth; ++l)
          to[l * width + i] = static_cast<T>(from[i * row_stride + l * depth_stride]);
      }
      for (std::int64_t i = count; i < width; ++i) {
        for (std::int64_t l = 0; l < depth; ++l) to[l * width + i] = 0;
      }
    }
  }
}

// A whole tile goes straight to c; one over the edge, or of another type than the sums, by way of a buffer.
template <typename T, typename S>
void tile_to(S* c, std::int64_t stride, std::int64_t rows, std::int64_t columns, std::int64_t depth,
             const T* a, const T* b, bool add) {
  if constexpr (std::is_same_v<T, S>) {
    if (rows == kTileRows && columns == kTileColumns<T>) {
      multiply_tile(depth, a, b, c, stride, add);
      return;
    }
  }
  alignas(64) T buffer[kTileRows * kTileColumns<T>];
  multiply_tile(depth, a, b, buffer, kTileColumns<T>, false);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      S& to = c[i * stride + j];
      const T sum = buffer[i * kTileColumns<T> + j];
      to = store<S>(add ? static_cast<T>(load(to)) + sum : sum);
    }
  }
}

template <typename S>
class Gemm final : public Kernel {
 public:
  using T = std::conditional_t<std::is_same_v<S, double>, double, float>;
  explicit Gemm(const KernelSpec& spec) : p_(product_of(spec)), threads_(spec.threads) {
    // Sums of halves are kept in f32 from first to last, so their k is one block.
    depth_ = std::is_same_v<S, T> ? std::min(p_.k, kDepth) : p_.k;
    a_panels_ = panels(p_.m, kTileRows);
    b_panels_ = panels(p_.n, kTileColumns<T>);
    a_size_ = round_up(a_panels_ * kTileRows * depth_, 16);
    workspace_ = (a_size_ + b_panels_ * kTileColumns<T> * depth_) * static_cast<Bytes>(sizeof(T));
  }

  void run(const Operands& o) const override {
    if (p_.empty()) return;
    for (std::int64_t i = 0; i < p_.batches(); ++i) {
      const auto [a, b, c] = p_.offsets(i);
      multiply(o.input<S>(0) + a, o.input<S>(1) + b, o.output<S>(0) + c, static_cast<T*>(o.workspace));
    }
  }

 private:
  void multiply(const S* a, const S* b, S* c, T* packed_a) const {
    T* packed_b = packed_a + a_size_;
    std::int64_t begin = 0;
    do {  // once at least: k may be 0, and c is written then too
      const std::int64_t depth = std::min(depth_, p_.k - begin);
      parallel_for(threads_, a_panels_ + b_panels_, kPackGrain, [&](std::int64_t first, std::int64_t last) {
        if (first < a_panels_) {
          pack(a + begin * p_.a_k, p_.m, depth, p_.a_m, p_.a_k, kTileRows, first, std::min(last, a_panels_),
               packed_a);
        }
        if (last > a_panels_) {
          pack(b + begin * p_.b_k, p_.n, depth, p_.b_n, p_.b_k, std::int64_t{kTileColumns<T>},
               std::max<std::int64_t>(first - a_panels_, 0), last - a_panels_, packed_b);
        }
      });
      const std::int64_t row_blocks = panels(a_panels_, kRowPanels);
      const std::int64_t column_blocks = panels(b_panels_, kColumnPanels);
      parallel_for(threads_, row_blocks * column_blocks, 1, [&](std::int64_t block, std::int64_t) {
        const std::int64_t i0 = block / column_blocks * kRowPanels,
                           j0 = block % column_blocks * kColumnPanels;
        for (std::int64_t j = j0; j < std::min(j0 + kColumnPanels, b_panels_); ++j) {
          for (std::int64_t i = i0; i < std::min(i0 + kRowPanels, a_panels_); ++i) {
            tile_to(c + i * kTileRows * p_.c_m + j * kTileColumns<T>, p_.c_m,
                    std::min<std::int64_t>(kTileRows, p_.m - i * kTileRows),
                    std::min<std::int64_t>(kTileColumns<T>, p_.n - j * kTileColumns<T>), depth,
                    packed_a + i * kTileRows * depth, packed_b + j * kTileColumns<T> * depth, begin > 0);
          }
        }
      });
      begin += depth_;
    } while (begin < p_.k);
  }

  Product p_;
  int threads_;
  std::int64_t depth_ = 0, a_panels_ = 0, b_panels_ = 0, a_size_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> gemm(const KernelSpec& spec) {
  if (product_of(spec).c_n != 1) return nullptr;
  switch (spec.out[0].type.dtype) {
    case DType::f64:
      return std::make_unique<Gemm<double>>(spec);
    case DType::f32:
      return std::make_unique<Gemm<float>>(spec);
    case DType::bf16:
      return std::make_unique<Gemm<Bf16>>(spec);
    case DType::f16:
      return std::make_unique<Gemm<F16>>(spec);
    default:
      return nullptr;
  }
}

}  // namespace tidemark::kernels
