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
#include "tidemark/kernels/cpu/transpose.h"

namespace tidemark::kernels {

// Two panels to multiply into a tile of c at (row, column).
template <typename T>
struct Panels {
  std::int64_t row, column, rows, columns, depth;
  const T *a, *b;
  bool add;  // c has the sums of blocks of k before this one
  T* sums;   // they stand there instead, where c cannot hold them; or null
};

template <typename T>
class PackedProduct {
 public:
  // Apart: c cannot hold partial sums, which lie in the workspace.
  PackedProduct(std::int64_t m, std::int64_t n, std::int64_t k, bool apart = false)
      : m_(m),
        n_(n),
        k_(k),
        depth_(std::min(k, kDepth)),
        most_columns_(apart ? kMostColumnsApart : kMostColumns),
        apart_(apart && k > kDepth) {
    const std::int64_t rows = round_up(std::min(m, kMostRows), kTileRows),
                       columns = round_up(std::min(n, most_columns_), kTileColumns<T>);
    a_size_ = round_up(rows * depth_, 64 / static_cast<Bytes>(sizeof(T)));
    b_size_ = columns * depth_;
    sums_size_ = apart_ ? rows * columns : 0;
  }
  Bytes workspace() const { return (a_size_ + b_size_ + sums_size_) * static_cast<Bytes>(sizeof(T)); }

  // pack_a(row, rows, begin, depth, to): rows [row, row + rows) of a, k in [begin, begin + depth), as
  // depth x kTileRows; the caller fills the rows that are there, zeros stand behind them. pack_b alike, by
  // columns. put(panels): multiplies them into c.
  template <typename PackA, typename PackB, typename Put>
  void run(int threads, void* workspace, PackA&& pack_a, PackB&& pack_b, Put&& put) const {
    for (std::int64_t j = 0; j < n_; j += most_columns_) {
      for (std::int64_t i = 0; i < m_; i += kMostRows) {
        std::int64_t begin = 0;
        do {  // once at least: k may be 0, and c is written then too
          block(threads, static_cast<T*>(workspace), i, j, begin, pack_a, pack_b, put);
          begin += depth_;
        } while (begin < k_);
      }
    }
  }

 private:
  template <typename PackA, typename PackB, typename Put>
  void block(int threads, T* a, std::int64_t row, std::int64_t column, std::int64_t begin, PackA& pack_a,
             PackB& pack_b, Put& put) const {
    T *const b = a + a_size_, *const sums = b + b_size_;
    constexpr std::int64_t columns = kTileColumns<T>;
    const std::int64_t row_end = std::min(m_, row + kMostRows),
                       column_end = std::min(n_, column + most_columns_);
    const std::int64_t a_panels = (row_end - row + kTileRows - 1) / kTileRows;
    const std::int64_t b_panels = (column_end - column + columns - 1) / columns;
    const std::int64_t depth = std::min(depth_, k_ - begin);
    parallel_for(threads, a_panels + b_panels, kPackGrain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t panel = first; panel < last; ++panel) {
        if (panel < a_panels) {
          pack_one(pack_a, row + panel * kTileRows, row_end, kTileRows, begin, depth,
                   a + panel * kTileRows * depth);
        } else {
          const std::int64_t p = panel - a_panels;
          pack_one(pack_b, column + p * columns, column_end, columns, begin, depth, b + p * columns * depth);
        }
      }
    });
    const std::int64_t row_blocks = (a_panels + kRowPanels - 1) / kRowPanels;
    const std::int64_t column_blocks = (b_panels + kColumnPanels - 1) / kColumnPanels;
    parallel_for(threads, row_blocks * column_blocks, 1, [&](std::int64_t task, std::int64_t) {
      const std::int64_t i0 = task / column_blocks * kRowPanels, j0 = task % column_blocks * kColumnPanels;
      for (std::int64_t j = j0; j < std::min(j0 + kColumnPanels, b_panels); ++j) {
        for (std::int64_t i = i0; i < std::min(i0 + kRowPanels, a_panels); ++i) {
          const std::int64_t r = row + i * kTileRows, c = column + j * columns;
          Panels<T> p{.row = r,
                      .column = c,
                      .rows = std::min<std::int64_t>(kTileRows, row_end - r),
                      .columns = std::min(columns, column_end - c),
                      .depth = depth,
                      .a = a + i * kTileRows * depth,
                      .b = b + j * columns * depth,
                      .add = begin > 0 && !apart_,
                      .sums = apart_ ? sums + (i * b_panels + j) * kTileRows * columns : nullptr};
          if (!apart_ || begin + depth == k_) {
            if (begin == 0) p.sums = nullptr;
            put(p);
          } else {
            multiply_tile<T, kTileRows>(
                {.k = depth, .a = p.a, .b = p.b, .c = p.sums, .c_stride = columns, .add = begin > 0});
          }
        }
      }
    });
  }

  static constexpr std::int64_t kDepth = 256;       // of a block of k: a panel of b stays in the first cache
  static constexpr std::int64_t kRowPanels = 32;    // panels of a, which stay in the second cache, and
  static constexpr std::int64_t kColumnPanels = 8;  // of b, that one task multiplies
  // Rows and columns packed at a time: a bound on the workspace.
  static constexpr std::int64_t kMostRows = 340 * kTileRows, kMostColumns = 4096, kMostColumnsApart = 1024;
  static constexpr std::int64_t kPackGrain = 8;  // panels per packing task

  template <typename Pack>
  static void pack_one(Pack& pack, std::int64_t at, std::int64_t size, std::int64_t width, std::int64_t begin,
                       std::int64_t depth, T* to) {
    const std::int64_t count = std::min(width, size - at);
    if (count < width) std::fill(to, to + width * depth, T(0));
    pack(at, count, begin, depth, to);
  }

  std::int64_t m_, n_, k_, depth_, most_columns_, a_size_ = 0, b_size_ = 0, sums_size_ = 0;
  bool apart_;
};

// `put` by way of a buffer, for a tile that lies anywhere in c: element (i, j) of it at c[at(i, j)].
template <typename T, typename S, typename At>
void put_anywhere(S* c, At&& at, const Panels<T>& p) {
  alignas(64) T buffer[kTileRows * kTileColumns<T>];
  T* const sums = p.sums != nullptr ? p.sums : buffer;
  multiply_tile<T, kTileRows>(
      {.k = p.depth, .a = p.a, .b = p.b, .c = sums, .c_stride = kTileColumns<T>, .add = p.sums != nullptr});
  for (std::int64_t i = 0; i < p.rows; ++i) {
    for (std::int64_t j = 0; j < p.columns; ++j) {
      S& to = c[at(p.row + i, p.column + j)];
      const T sum = sums[i * kTileColumns<T> + j];
      to = store<S>(p.add ? static_cast<T>(load(to)) + sum : sum);
    }
  }
}

// `put` for a c whose rows are evenly spaced and columns adjacent: a whole tile of the type of the sums goes straight to c.
template <typename T, typename S>
void put_tile(S* c, std::int64_t stride, const Panels<T>& p) {
  if constexpr (std::is_same_v<T, S>) {
    if (p.rows == kTileRows && p.columns == kTileColumns<T>) {
      T* const to = c + p.row * stride + p.column;
      multiply_tile<T, kTileRows>(
          {.k = p.depth, .a = p.a, .b = p.b, .c = to, .c_stride = stride, .add = p.add});
      return;
    }
  }
  put_anywhere(
      c, [stride](std::int64_t i, std::int64_t j) { return i * stride + j; }, p);
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
  } else if (std::is_same_v<T, S> && depth_stride == 1) {
    if constexpr (std::is_same_v<T, S>) transpose(from, row_stride, to, width, rows, depth);
  } else {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t l = 0; l < depth; ++l)
        to[l * width + i] = static_cast<T>(from[i * row_stride + l * depth_stride]);
    }
  }
}

}  // namespace tidemark::kernels
