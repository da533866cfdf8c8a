// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/strip_product.h"

#include <algorithm>
#include <array>

#include "tidemark/base/bytes.h"
#include "tidemark/base/parallel.h"
#include "tidemark/kernels/cpu/register_tile.h"
#include "tidemark/kernels/cpu/transpose.h"
#include "tidemark/kernels/strips.h"

namespace tidemark::kernels {
namespace {

using I = std::int64_t;

constexpr I kDepth = 256;     // most of a piece of k: a strip of b stays in the first cache
constexpr I kDeep = 768;      // of k at least, of as many rows as fit: c is gone over seldom
constexpr I kRowsAhead = 40;  // asked for in a b that is read as one stream
constexpr I kRowsOfA = 16;    // asked for in an a whose rows lie along memory
constexpr I kTogether = 32;   // its tiles that are packed side by side, since memory likes long rows
constexpr Bytes kPastCaches = Bytes{64} << 20;
constexpr Bytes kMostOfA = Bytes{832} << 10;  // packed rows of a stay in the second cache

I pieces(I n, I size) { return (n + size - 1) / size; }

// Rows in tiles of nearly one height.
struct Tiles {
  I row, rows, count;
  I at(I i) const { return row + rows * i / count; }
};

// The most rows of a tile and the vectors of a strip. Few rows and a b that is read once ask for many rows, to go over b
// seldom; else three vectors load the least for what they multiply.
template <bool in_strips>
struct Form {
#if defined(__AVX512F__)
  static constexpr int rows = in_strips ? 14 : 9;  // 28 or 27 sums, b, 1 of a: 31 of 32 registers
  static constexpr int vectors = in_strips ? 2 : 3;
#else
  static constexpr int rows = 6, vectors = 2;  // 12 sums of 16 registers
#endif
};

template <typename T, bool in_strips>
class StripProduct final : public Kernel {
  static constexpr I kRows = Form<in_strips>::rows, kStrip = Form<in_strips>::vectors * kLanes<T>;

  // What one task multiplies.
  struct Part {
    I row, row_end, column, column_end;
    Tiles tiles() const { return {row, row_end - row, pieces(row_end - row, kRows)}; }
  };

 public:
  StripProduct(Product p, int threads) : p_(std::move(p)), threads_(threads) {
    const I strips = pieces(p_.n, kStrip), tiles = pieces(p_.m, kRows);
    column_tasks_ = std::min<I>(p_.m > p_.n ? 1 : threads, strips);
    row_tasks_ = std::min<I>(threads / column_tasks_, tiles);
    const I rows = pieces(tiles, row_tasks_) * kRows, most = kMostOfA / static_cast<Bytes>(sizeof(T));
    piece_ = std::min(kDepth, round_up(pieces(p_.k, pieces(p_.k, kDepth)), kTilePiece));
    depth_ = std::min(p_.k, std::max(kDeep, most / rows) / piece_ * piece_);
    block_rows_ = std::min(rows, most / depth_ / kRows * kRows);
    a_size_ = round_up(block_rows_ * depth_, 64 / static_cast<Bytes>(sizeof(T)));
    b_size_ = in_strips ? 0 : piece_ * kStrip;
    workspace_ = (a_size_ + b_size_) * row_tasks_ * column_tasks_ * static_cast<Bytes>(sizeof(T));
  }

  void run(const Operands& o) const override {
    const I tiles = pieces(p_.m, kRows), strips = pieces(p_.n, kStrip);
    parallel_for(threads_, row_tasks_ * column_tasks_, 1, [&](I task, I) {
      const I r = task / column_tasks_, c = task % column_tasks_;
      const Part part{std::min(p_.m, tiles * r / row_tasks_ * kRows),
                      std::min(p_.m, tiles * (r + 1) / row_tasks_ * kRows),
                      std::min(p_.n, strips * c / column_tasks_ * kStrip),
                      std::min(p_.n, strips * (c + 1) / column_tasks_ * kStrip)};
      T* const a = static_cast<T*>(o.workspace) + task * (a_size_ + b_size_);
      for (I i = 0; i < p_.batches(); ++i) {
        const auto offset = p_.offsets(i);
        multiply(part, o.input<T>(0) + offset[0], o.input<T>(1) + offset[1], o.output<T>(0) + offset[2], a,
                 a + a_size_);
      }
      settle_streams();
    });
  }

 private:
  void multiply(const Part& part, const T* a, const T* b, T* c, T* packed_a, T* packed_b) const {
    for (I k = 0; k < p_.k; k += depth_) {
      const I end = std::min(p_.k, k + depth_);
      Part block = part;
      for (; block.row < part.row_end; block.row = block.row_end) {
        block.row_end = std::min(part.row_end, block.row + block_rows_);
        pack_a(block.tiles(), k, end, a, packed_a);
        for (I j = part.column; j < part.column_end; j += kStrip) {
          block.column = j;
          block.column_end = std::min(part.column_end, j + kStrip);
          const T* from = packed_a;
          for (I l = k; l < end; l += piece_) {
            const I depth = std::min(piece_, end - l);
            const bool same = l + piece_ < end;
            Next next{.column = same ? j : j + kStrip, .k = same ? l + piece_ : k};
            next.depth = next.column + kStrip <= part.column_end ? std::min(piece_, end - next.k) : 0;
            multiply_strip(block, l, depth, next, from, b, packed_b, c);
            from += block.tiles().count * kRows * depth;
          }
        }
      }
    }
  }

  struct Next {
    I column = 0, k = 0, depth = 0;
  };

  // Pieces of k; in each, tiles of k x kRows.
  void pack_a(const Tiles& tiles, I k, I end, const T* a, T* to) const {
    for (I begin = k; begin < end; begin += piece_) {
      const I depth = std::min(piece_, end - begin), step = depth * kRows;
      if (p_.a_k == 1) {
        for (I i = 0; i < tiles.count; ++i)
          transpose(a + tiles.at(i) * p_.a_m + begin, p_.a_m, to + i * step, kRows,
                    tiles.at(i + 1) - tiles.at(i), depth);
      } else {
        for (I i = 0; i < tiles.count; i += kTogether)
          pack_columns(tiles, i, std::min(kTogether, tiles.count - i), depth, a + begin * p_.a_k,
                       to + i * step);
      }
      to += tiles.count * step;
    }
  }

  // Tiles [first, first + count) of an a that is dense along m.
  void pack_columns(const Tiles& tiles, I first, I count, I depth, const T* a, T* to) const {
    std::array<I, kTogether + 1> at;
    for (I i = 0; i <= count; ++i) at[static_cast<std::size_t>(i)] = tiles.at(first + i);
    const I begin = at[0], end = at[static_cast<std::size_t>(count)];
    for (I l = 0; l < depth; ++l, a += p_.a_k, to += kRows) {
      if (l + kRowsOfA < depth) {
        for (I x = begin; x < end; x += kLanes<T>) __builtin_prefetch(a + kRowsOfA * p_.a_k + x, 0, 2);
      }
      T* put = to;
      for (I i = 0; i < count; ++i, put += depth * kRows) {
        const T* const from = a + at[static_cast<std::size_t>(i)];
        // What stands behind a lower tile is never read; a fixed count copies in few instructions.
        if (from + kRows <= a + p_.m) {
          std::copy_n(from, kRows, put);
        } else {
          std::copy_n(from, a + end - from, put);
        }
      }
    }
  }

  void pack_b(const Part& block, I k, I depth, const T* b, T* to) const {
    const T* const from = b + k * p_.b_k + block.column * p_.b_n;
    const I columns = block.column_end - block.column;
    if (columns < kStrip) std::fill(to, to + depth * kStrip, T(0));
    if (p_.b_n != 1) {
      transpose(from, p_.b_n, to, kStrip, columns, depth);
    } else {
      for (I l = 0; l < depth; ++l) std::copy_n(from + l * p_.b_k, columns, to + l * kStrip);
    }
  }

  template <Strip strip>
  static void put(I rows, const Tile<T>& tile) {
    static constexpr auto table = []<int... r>(std::integer_sequence<int, r...>) {
      return std::array{&multiply_tile<T, r + 1, Form<in_strips>::vectors, strip, kRows>...};
    }(std::make_integer_sequence<int, kRows>{});
    table[static_cast<std::size_t>(rows - 1)](tile);
  }

  // One strip of columns, one piece of k. The first tile packs the strip for the others on its way.
  void multiply_strip(const Part& block, I k, I depth, const Next& next, const T* packed_a, const T* b,
                      T* packed_b, T* c) const {
    alignas(64) T buffer[kRows * kStrip];
    const Tiles tiles = block.tiles();
    const I column = block.column, columns = block.column_end - column;
    const bool whole = columns == kStrip, packing = whole && p_.b_n == 1;
    if (!in_strips && !packing) pack_b(block, k, depth, b, packed_b);
    for (I i = 0; i < tiles.count; ++i, packed_a += depth * kRows) {
      const I row = tiles.at(i), rows = tiles.at(i + 1) - row;
      T* const to = c + row * p_.c_m + column;
      Tile<T> tile{.k = depth,
                   .a = packed_a,
                   .b = packed_b,
                   .c = whole ? to : buffer,
                   .c_stride = whole ? p_.c_m : kStrip,
                   .add = whole && k > 0,
                   .past_caches = whole && past_caches(c)};
      if constexpr (in_strips) {
        tile.b = b + column / kStripWidth * kStripWidth * p_.k + k * kStripWidth + column % kStripWidth;
        tile.b_stride = kStripWidth;
        tile.beside = i == 0 ? kRowsAhead * kStripWidth : 0;
        put<Strip::in_place>(rows, tile);
      } else {
        tile.ahead = ahead_of(b, next, i);
        if (packing && i == 0) {
          tile.b = b + k * p_.b_k + column;
          tile.b_stride = p_.b_k;
          tile.packed = packed_b;
          put<Strip::packing>(rows, tile);
        } else {
          put<Strip::packed>(rows, tile);
        }
      }
      if (whole) continue;
      for (I r = 0; r < rows; ++r) {
        for (I x = 0; x < columns; ++x) {
          T& value = to[r * p_.c_m + x];
          value = k > 0 ? value + buffer[r * kStrip + x] : buffer[r * kStrip + x];
        }
      }
    }
  }

  // A c that the caches cannot hold until it is read is written without being fetched first.
  bool past_caches(const T* c) const {
    constexpr I size = sizeof(T);
    return p_.k <= piece_ && p_.m * p_.c_m * size >= kPastCaches && p_.c_m * size % 64 == 0 &&
           reinterpret_cast<std::uintptr_t>(c) % 64 == 0;
  }

  // What tile `turn` of a strip asks for: its share of the next one.
  Ahead ahead_of(const T* b, const Next& next, I turn) const {
    const I share = piece_ / kTilePiece;
    Ahead ahead;
    if (next.depth == 0) return ahead;
    // Rows of memory: along n, or where b is transposed along k.
    const bool by_k = p_.b_n != 1;
    const I rows = by_k ? kStrip : next.depth, length = by_k ? next.depth : kStrip;
    const I shares = pieces(rows, share), row = turn % shares * share, at = turn / shares * kStrip;
    if (at >= length) return ahead;
    const I stride = by_k ? p_.b_n : p_.b_k;
    ahead.at = reinterpret_cast<const char*>(b + next.k * p_.b_k + next.column * p_.b_n + row * stride + at);
    ahead.step = stride * static_cast<I>(sizeof(T));
    ahead.count = std::min(share, rows - row);
    return ahead;
  }

  Product p_;
  int threads_;
  I piece_, row_tasks_, column_tasks_, block_rows_, depth_, a_size_, b_size_;
};

template <typename T>
std::unique_ptr<Kernel> prepare(const Product& p, int threads, bool b_in_strips) {
  if (b_in_strips) return std::make_unique<StripProduct<T, true>>(p, threads);
  return std::make_unique<StripProduct<T, false>>(p, threads);
}

}  // namespace

std::unique_ptr<Kernel> strip_product(const Product& p, DType dtype, int threads, bool b_in_strips) {
  if (p.empty() || p.k == 0 || p.c_n != 1 || (p.a_k != 1 && p.a_m != 1)) return nullptr;
  if (!b_in_strips && p.b_n != 1 && p.b_k != 1) return nullptr;
  if (dtype == DType::f32) return prepare<float>(p, threads, b_in_strips);
  if (dtype == DType::f64) return prepare<double>(p, threads, b_in_strips);
  return nullptr;
}

}  // namespace tidemark::kernels
