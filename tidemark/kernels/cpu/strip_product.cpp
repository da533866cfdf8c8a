// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/strip_product.h"

#include <algorithm>
#include <array>

#include "tidemark/base/bytes.h"
#include "tidemark/base/parallel.h"
#include "tidemark/kernels/cpu/strip_tile.h"
#include "tidemark/kernels/cpu/transpose.h"
#include "tidemark/kernels/strips.h"

namespace tidemark::kernels {
namespace {

constexpr std::int64_t kDepth = 256;          // of a block of k: a strip of b stays in the first cache
constexpr std::int64_t kStrips = 4;           // packed together, since memory likes long rows
constexpr std::int64_t kRowsAhead = 40;       // asked for in a b that is read as one stream
constexpr Bytes kMostOfA = Bytes{768} << 10;  // packed rows of a stay in the second cache

std::int64_t pieces(std::int64_t n, std::int64_t size) { return (n + size - 1) / size; }

template <typename T, bool in_place>
void multiply_tile(std::int64_t rows, const TileOf<T>& tile) {
  static constexpr auto table = []<int... r>(std::integer_sequence<int, r...>) {
    return std::array{&strip_tile<T, r + 1, in_place>...};
  }(std::make_integer_sequence<int, kStripRows>{});
  table[static_cast<std::size_t>(rows - 1)](tile);
}

// Rows in tiles of nearly one height.
struct Tiles {
  std::int64_t row, rows, count;
  std::int64_t at(std::int64_t i) const { return row + rows * i / count; }
};

// What one task multiplies.
struct Part {
  std::int64_t row, row_end, column, column_end;
  Tiles tiles() const { return {row, row_end - row, pieces(row_end - row, kStripRows)}; }
};

template <typename T>
class StripProduct final : public Kernel {
 public:
  StripProduct(Product p, int threads, bool in_strips)
      : p_(std::move(p)), threads_(threads), in_strips_(in_strips) {
    const std::int64_t strips = pieces(p_.n, kStrip<T>), tiles = pieces(p_.m, kStripRows);
    column_tasks_ = std::min<std::int64_t>(p_.m > p_.n ? 1 : threads, strips);
    row_tasks_ = std::min<std::int64_t>(threads / column_tasks_, tiles);
    const std::int64_t rows = pieces(tiles, row_tasks_) * kStripRows;
    const std::int64_t most = kMostOfA / static_cast<Bytes>(sizeof(T));
    block_rows_ = std::min(rows, most / kDepth / kStripRows * kStripRows);
    depth_ = std::max(kDepth, most / block_rows_ / kDepth * kDepth);
    depth_ = std::min(depth_, p_.k);
    a_size_ = round_up(block_rows_ * depth_, 64 / static_cast<Bytes>(sizeof(T)));
    b_size_ = in_strips_ ? 0 : kDepth * std::min(kStrips, pieces(strips, column_tasks_)) * kStrip<T>;
    workspace_ = (a_size_ + b_size_) * row_tasks_ * column_tasks_ * static_cast<Bytes>(sizeof(T));
  }

  void run(const Operands& o) const override {
    const std::int64_t tiles = pieces(p_.m, kStripRows), strips = pieces(p_.n, kStrip<T>);
    parallel_for(threads_, row_tasks_ * column_tasks_, 1, [&](std::int64_t task, std::int64_t) {
      const std::int64_t r = task / column_tasks_, c = task % column_tasks_;
      const Part part{std::min(p_.m, tiles * r / row_tasks_ * kStripRows),
                      std::min(p_.m, tiles * (r + 1) / row_tasks_ * kStripRows),
                      std::min(p_.n, strips * c / column_tasks_ * kStrip<T>),
                      std::min(p_.n, strips * (c + 1) / column_tasks_ * kStrip<T>)};
      T* const a = static_cast<T*>(o.workspace) + task * (a_size_ + b_size_);
      for (std::int64_t i = 0; i < p_.batches(); ++i) {
        const auto offset = p_.offsets(i);
        multiply(part, o.input<T>(0) + offset[0], o.input<T>(1) + offset[1], o.output<T>(0) + offset[2], a,
                 a + a_size_);
      }
    });
  }

 private:
  void multiply(const Part& part, const T* a, const T* b, T* c, T* packed_a, T* packed_b) const {
    for (std::int64_t k = 0; k < p_.k; k += depth_) {
      const std::int64_t end = std::min(p_.k, k + depth_);
      Part block = part;
      for (; block.row < part.row_end; block.row = block.row_end) {
        block.row_end = std::min(part.row_end, block.row + block_rows_);
        pack_a(block.tiles(), k, end, a, packed_a);
        for (std::int64_t j = part.column; j < part.column_end; j += kStrips * kStrip<T>) {
          block.column = j;
          block.column_end = std::min(part.column_end, j + kStrips * kStrip<T>);
          const T* from = packed_a;
          for (std::int64_t l = k; l < end; l += kDepth) {
            const std::int64_t depth = std::min(kDepth, end - l);
            if (!in_strips_) pack_b(block, l, depth, b, packed_b);
            const bool same = l + kDepth < end;
            Next next{.column = same ? j : j + kStrips * kStrip<T>, .k = same ? l + kDepth : k};
            next.depth =
                next.column + kStrips * kStrip<T> <= part.column_end ? std::min(kDepth, end - next.k) : 0;
            strips(block, l, depth, in_strips_ ? Next{} : next, from, b, packed_b, c);
            from += block.tiles().count * kStripRows * depth;
          }
        }
      }
    }
  }

  struct Next {
    std::int64_t column = 0, k = 0, depth = 0;
  };

  void pack_a(const Tiles& tiles, std::int64_t k, std::int64_t end, const T* a, T* to) const {
    for (std::int64_t begin = k; begin < end; begin += kDepth) {
      const std::int64_t depth = std::min(kDepth, end - begin);
      for (std::int64_t i = 0; i < tiles.count; ++i, to += depth * kStripRows) {
        const std::int64_t rows = tiles.at(i + 1) - tiles.at(i);
        const T* from = a + tiles.at(i) * p_.a_m + begin * p_.a_k;
        if (p_.a_k == 1) {
          transpose(from, p_.a_m, to, kStripRows, rows, depth);
        } else if (rows == kStripRows) {
          for (std::int64_t l = 0; l < depth; ++l)
            std::copy_n(from + l * p_.a_k, kStripRows, to + l * kStripRows);
        } else {
          for (std::int64_t l = 0; l < depth; ++l) std::copy_n(from + l * p_.a_k, rows, to + l * kStripRows);
        }
      }
    }
  }

  void pack_b(const Part& block, std::int64_t k, std::int64_t depth, const T* b, T* to) const {
    const T* const from = b + k * p_.b_k + block.column * p_.b_n;
    const std::int64_t columns = block.column_end - block.column, step = kDepth * kStrip<T>;
    if (columns % kStrip<T> != 0) {
      T* const last = to + columns / kStrip<T> * step;
      std::fill(last, last + step, T(0));
    }
    if (p_.b_n != 1) {
      for (std::int64_t j = 0; j < columns; j += kStrip<T>)
        transpose(from + j * p_.b_n, p_.b_n, to + j * kDepth, kStrip<T>,
                  std::min<std::int64_t>(kStrip<T>, columns - j), depth);
      return;
    }
    for (std::int64_t l = 0; l < depth; ++l) {
      const T* const row = from + l * p_.b_k;
      std::int64_t j = 0;
      for (; j + kStrip<T> <= columns; j += kStrip<T>) {
        T* const at = to + j * kDepth + l * kStrip<T>;
        Lanes<T>::load(row + j).store(at);
        Lanes<T>::load(row + j + kLanes<T>).store(at + kLanes<T>);
      }
      if (j < columns) std::copy_n(row + j, columns - j, to + j * kDepth + l * kStrip<T>);
    }
  }

  void strips(const Part& block, std::int64_t k, std::int64_t depth, const Next& next, const T* packed_a,
              const T* b, const T* packed_b, T* c) const {
    alignas(64) T buffer[kStripRows * kStrip<T>];
    const Tiles tiles = block.tiles();
    std::int64_t turn = 0;
    for (std::int64_t column = block.column; column < block.column_end;
         column += kStrip<T>, packed_b += kDepth * kStrip<T>) {
      const std::int64_t columns = std::min<std::int64_t>(kStrip<T>, block.column_end - column);
      const bool whole = columns == kStrip<T>;
      const T* from = packed_a;
      for (std::int64_t i = 0; i < tiles.count; ++i, from += depth * kStripRows) {
        const std::int64_t row = tiles.at(i), rows = tiles.at(i + 1) - row;
        T* const to = c + row * p_.c_m + column;
        TileOf<T> tile{depth,
                       from,
                       packed_b,
                       kStrip<T>,
                       0,
                       whole ? to : buffer,
                       whole ? p_.c_m : kStrip<T>,
                       whole && k > 0,
                       ahead_of(b, next, turn++)};
        if (in_strips_) {
          tile.b = b + column / kStripWidth * kStripWidth * p_.k + k * kStripWidth + column % kStripWidth;
          tile.b_stride = kStripWidth;
          tile.beside = i == 0 ? kRowsAhead * kStripWidth : 0;
          multiply_tile<T, true>(rows, tile);
        } else {
          multiply_tile<T, false>(rows, tile);
        }
        if (whole) continue;
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t x = 0; x < columns; ++x) {
            T& value = to[r * p_.c_m + x];
            value = k > 0 ? value + buffer[r * kStrip<T> + x] : buffer[r * kStrip<T> + x];
          }
        }
      }
    }
  }

  // What the tile that comes as number `turn` asks for: its share of what is packed next.
  Ahead ahead_of(const T* b, const Next& next, std::int64_t turn) const {
    constexpr std::int64_t share = kDepth / kTilePiece,
                           piece = kAheadBytes / static_cast<std::int64_t>(sizeof(T));
    Ahead ahead;
    if (next.depth == 0) return ahead;
    // Rows of memory: along n, or where b is transposed along k.
    const bool by_k = p_.b_n != 1;
    const std::int64_t rows = by_k ? kStrips * kStrip<T> : next.depth,
                       length = by_k ? next.depth : kStrips * kStrip<T>;
    const std::int64_t shares = pieces(rows, share), row = turn % shares * share, at = turn / shares * piece;
    if (at >= length) return ahead;
    const std::int64_t stride = by_k ? p_.b_n : p_.b_k;
    ahead.at = reinterpret_cast<const char*>(b + next.k * p_.b_k + next.column * p_.b_n + row * stride + at);
    ahead.step = stride * static_cast<std::int64_t>(sizeof(T));
    ahead.count = std::min(share, rows - row);
    return ahead;
  }

  Product p_;
  int threads_;
  bool in_strips_;  // b, which is read where it lies then
  std::int64_t row_tasks_, column_tasks_, block_rows_, depth_, a_size_, b_size_;
};

}  // namespace

std::unique_ptr<Kernel> strip_product(const Product& p, DType dtype, int threads, bool b_in_strips) {
  if (p.empty() || p.k == 0 || p.c_n != 1 || (p.a_k != 1 && p.a_m != 1)) return nullptr;
  if (!b_in_strips && p.b_n != 1 && p.b_k != 1) return nullptr;
  if (dtype == DType::f32) return std::make_unique<StripProduct<float>>(p, threads, b_in_strips);
  if (dtype == DType::f64) return std::make_unique<StripProduct<double>>(p, threads, b_in_strips);
  return nullptr;
}

}  // namespace tidemark::kernels
