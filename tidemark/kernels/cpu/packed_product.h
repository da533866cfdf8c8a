// A product c = a b whose operands are packed panel by panel by functions of the caller's: a matrix product
// packs rows and columns, a convolution packs patches, and no patch matrix ever exists (Goto & van de Geijn
// 2008). Blocks of k come in order and tasks own their part of c, so the bits do not depend on the thread
// count.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "tidemark/base/bytes.h"
#include "tidemark/base/parallel.h"
#include "tidemark/kernels/accumulate.h"
#include "tidemark/kernels/cpu/register_tile.h"

namespace tidemark::kernels {

template <typename T>
class PackedProduct {
 public:
  // Whole: all of k in one block, for a c that cannot hold partial sums.
  PackedProduct(std::int64_t m, std::int64_t n, std::int64_t k, bool whole = false)
      : m_(m), n_(n), k_(k), depth_(whole ? k : std::min(k, kDepth)) {
    a_panels_ = (m + kTileRows - 1) / kTileRows;
    b_panels_ = (n + kTileColumns<T> - 1) / kTileColumns<T>;
    a_size_ = round_up(a_panels_ * kTileRows * depth_, 64 / static_cast<Bytes>(sizeof(T)));
  }
  Bytes workspace() const {
    return (a_size_ + b_panels_ * kTileColumns<T> * depth_) * static_cast<Bytes>(sizeof(T));
  }

  // pack_a(row, rows, begin, depth, to): rows [row, row + rows) of a, k in [begin, begin + depth), as
  // depth x kTileRows; the caller fills the rows that are there, zeros stand behind them. pack_b alike, by
  // columns. put(i, j, rows, columns, depth, a, b, add): multiplies the two panels into c at (i, j).
  template <typename PackA, typename PackB, typename Put>
  void run(int threads, void* workspace, PackA&& pack_a, PackB&& pack_b, Put&& put) const {
    if (m_ == 0 || n_ == 0) return;
    T* const a = static_cast<T*>(workspace);
    T* const b = a + a_size_;
    constexpr std::int64_t columns = kTileColumns<T>;
    std::int64_t begin = 0;
    do {  // once at least: k may be 0, and c is written then too
      const std::int64_t depth = std::min(depth_, k_ - begin);
      parallel_for(threads, a_panels_ + b_panels_, kPackGrain, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t panel = first; panel < last; ++panel) {
          if (panel < a_panels_) {
            pack_one(pack_a, panel * kTileRows, m_, kTileRows, begin, depth, a + panel * kTileRows * depth);
          } else {
            const std::int64_t p = panel - a_panels_;
            pack_one(pack_b, p * columns, n_, columns, begin, depth, b + p * columns * depth);
          }
        }
      });
      const std::int64_t row_blocks = (a_panels_ + kRowPanels - 1) / kRowPanels;
      const std::int64_t column_blocks = (b_panels_ + kColumnPanels - 1) / kColumnPanels;
      parallel_for(threads, row_blocks * column_blocks, 1, [&](std::int64_t block, std::int64_t) {
        const std::int64_t i0 = block / column_blocks * kRowPanels,
                           j0 = block % column_blocks * kColumnPanels;
        for (std::int64_t j = j0; j < std::min(j0 + kColumnPanels, b_panels_); ++j) {
          for (std::int64_t i = i0; i < std::min(i0 + kRowPanels, a_panels_); ++i) {
            put(i * kTileRows, j * columns, std::min<std::int64_t>(kTileRows, m_ - i * kTileRows),
                std::min<std::int64_t>(columns, n_ - j * columns), depth, a + i * kTileRows * depth,
                b + j * columns * depth, begin > 0);
          }
        }
      });
      begin += depth_;
    } while (begin < k_);
  }

 private:
  static constexpr std::int64_t kDepth = 256;        // of a block of k: a panel of b stays in the first cache
  static constexpr std::int64_t kRowPanels = 8;      // panels of a, and
  static constexpr std::int64_t kColumnPanels = 16;  // of b, that one task multiplies
  static constexpr std::int64_t kPackGrain = 8;      // panels per packing task

  template <typename Pack>
  static void pack_one(Pack& pack, std::int64_t at, std::int64_t size, std::int64_t width, std::int64_t begin,
                       std::int64_t depth, T* to) {
    const std::int64_t count = std::min(width, size - at);
    if (count < width) std::fill(to, to + width * depth, T(0));
    pack(at, count, begin, depth, to);
  }

  std::int64_t m_, n_, k_, depth_, a_panels_, b_panels_, a_size_;
};

// `put` for a c whose rows are evenly spaced and columns adjacent. A whole tile goes straight to c; one over
// the edge, or of another type than the sums, by way of a buffer.
template <typename T, typename S>
void put_tile(S* c, std::int64_t stride, std::int64_t rows, std::int64_t columns, std::int64_t depth,
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

// `pack` for a matrix: x at (row, k) is x[row * row_stride + k * depth_stride].
template <typename T, std::int64_t width, typename S>
void pack_matrix(const S* x, std::int64_t row_stride, std::int64_t depth_stride, std::int64_t row,
                 std::int64_t rows, std::int64_t begin, std::int64_t depth, T* to) {
  const S* from = x + row * row_stride + begin * depth_stride;
  if (row_stride == 1 && rows == width) {
    for (std::int64_t l = 0; l < depth; ++l) {
      for (std::int64_t i = 0; i < width; ++i) to[l * width + i] = static_cast<T>(from[l * depth_stride + i]);
    }
  } else if (row_stride == 1) {
    for (std::int64_t l = 0; l < depth; ++l) {
      for (std::int64_t i = 0; i < rows; ++i) to[l * width + i] = static_cast<T>(from[l * depth_stride + i]);
    }
  } else {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t l = 0; l < depth; ++l)
        to[l * width + i] = static_cast<T>(from[i * row_stride + l * depth_stride]);
    }
  }
}

}  // namespace tidemark::kernels
