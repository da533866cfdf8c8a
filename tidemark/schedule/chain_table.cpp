// SPDX-License-Identifier: Apache-2.0
#include "tidemark/schedule/chain_table.h"

#include <algorithm>
#include <cstring>

#include "tidemark/base/error.h"

namespace tidemark::schedule {
namespace {

typedef float Four __attribute__((vector_size(16)));
typedef float Eight __attribute__((vector_size(32)));

struct Tile {
  const float* c[2];        // C(s_r, x, .) for x upwards
  const float* d[4];        // D(x, t_k, .) for x upwards
  const float* forward[2];  // forward(s_r, x) for x upwards
  float* out[2][4];         // min over x of the three's sum
  std::int32_t count;       // of x
};

// For one group of eight units; the same additions and minima in vectors of any length, so the same bits.
template <typename Vec>
__attribute__((always_inline)) inline void multiply_tile(const Tile& tile) {
  constexpr int kWidth = sizeof(Vec) / sizeof(float);
  for (int part = 0; part < 8; part += kWidth) {
    Vec sum[2][4];
    for (int r = 0; r < 2; ++r)
      for (int k = 0; k < 4; ++k) std::memcpy(&sum[r][k], tile.out[r][k] + part, sizeof(Vec));
    for (std::int32_t i = 0; i < tile.count; ++i) {
      Vec c[2];
      for (int r = 0; r < 2; ++r) {
        std::memcpy(&c[r], tile.c[r] + 8 * i + part, sizeof(Vec));
        c[r] += tile.forward[r][i];
      }
      for (int k = 0; k < 4; ++k) {
        Vec d;
        std::memcpy(&d, tile.d[k] + 8 * i + part, sizeof(Vec));
        for (int r = 0; r < 2; ++r) {
          const Vec v = c[r] + d;
          sum[r][k] = v < sum[r][k] ? v : sum[r][k];
        }
      }
    }
    for (int r = 0; r < 2; ++r)
      for (int k = 0; k < 4; ++k) std::memcpy(tile.out[r][k] + part, &sum[r][k], sizeof(Vec));
  }
}

void multiply_plain(const Tile& tile) { multiply_tile<Four>(tile); }
#if defined(__x86_64__)
__attribute__((target("avx2"))) void multiply_avx2(const Tile& tile) { multiply_tile<Eight>(tile); }
bool has_avx2() { return __builtin_cpu_supports("avx2"); }
#else
void multiply_avx2(const Tile& tile) { multiply_tile<Four>(tile); }
bool has_avx2() { return false; }
#endif

}  // namespace

ChainTable::ChainTable(std::vector<Link> links, std::int32_t units, const Watch& watch)
    : links_(std::move(links)),
      n_(static_cast<std::int32_t>(links_.size())),
      units_(units),
      blocks_(units / kLane + 1) {
  TIDEMARK_CHECK(n_ >= 1 && units >= 0);
  before_.push_back(0);
  for (const Link& l : links_) before_.push_back(before_.back() + static_cast<double>(l.forward));
  // Row s holds t = s + 1..n; row_[s] + t is its place.
  pairs_ = 0;
  for (std::int32_t s = 0; s < n_; ++s) {
    row_.push_back(pairs_ - static_cast<std::size_t>(s + 1));
    pairs_ += static_cast<std::size_t>(n_ - s);
  }
  c_.assign(static_cast<std::size_t>(blocks_) * pairs_ * kLane, kNever);
  d_.assign(kColumns, std::vector<float>(panel(blocks_, 0), kNever));
  sums_.resize(static_cast<std::size_t>(kRows * kColumns * blocks_ * kLane));
  forward_.resize(static_cast<std::size_t>(kRows * (n_ + 1)));
  for (std::int32_t t = 1; t <= n_; t += kColumns) {
    if (watch) watch();
    solve_columns(t, std::min(n_ + 1, t + kColumns));
  }
  d_.clear();
}

void ChainTable::solve_columns(std::int32_t first, std::int32_t last) {
  for (std::int32_t t = first; t < last; ++t) {
    auto& d = d_[static_cast<std::size_t>(t - first)];
    for (std::int32_t b = 0; b < blocks_; ++b) std::fill_n(&d[panel(b, t)], kLane, 0.0f);
  }
  const std::size_t wide = static_cast<std::size_t>(blocks_ * kLane);
  for (std::int32_t s = last - 2; s >= 0; s -= kRows) {
    const std::int32_t rows = std::min(kRows, s + 1);
    std::fill(sums_.begin(), sums_.end(), kNever);
    // x from s + 1: all that both rows and all columns have in common.
    multiply(s, rows, first);
    for (std::int32_t r = 0; r < rows; ++r)
      for (std::int32_t t = std::max(first, s - r + 1); t < last; ++t)
        finish(s - r, t, first, s, &sums_[static_cast<std::size_t>(r * kColumns + t - first) * wide]);
  }
}

void ChainTable::multiply(std::int32_t s, std::int32_t rows, std::int32_t first) {
  if (s + 1 >= first) return;
  const bool wide = has_avx2();
  for (std::int32_t r = 0; r < rows; ++r)
    for (std::int32_t x = s + 1; x < first; ++x)
      forward_[static_cast<std::size_t>(r * (n_ + 1) + x - s - 1)] = forward(s - r, x);
  for (std::int32_t b = 0; b < blocks_; ++b) {
    Tile tile{.count = first - s - 1};
    for (std::int32_t r = 0; r < kRows; ++r) {
      // A row or column that does not exist repeats the one before; its sums are not read.
      const std::int32_t row = std::min(r, rows - 1);
      tile.c[r] = &c_[at(b, s - row, s + 1)];
      tile.forward[r] = &forward_[static_cast<std::size_t>(row * (n_ + 1))];
      for (std::int32_t k = 0; k < kColumns; ++k) {
        tile.d[k] = &d_[static_cast<std::size_t>(k)][panel(b, s + 1)];
        tile.out[r][k] = &sums_[static_cast<std::size_t>((r * kColumns + k) * blocks_ + b) * kLane];
      }
    }
    wide ? multiply_avx2(tile) : multiply_plain(tile);
  }
}

// What multiply, with `top` the upper of its rows, left for (s, t): splits at x up to top and from `first`,
// taping, D.
void ChainTable::finish(std::int32_t s, std::int32_t t, std::int32_t first, std::int32_t top, float* sum) {
  const Link& l = link(s);
  auto& d = d_[static_cast<std::size_t>(t - first)];
  const auto other = [&](std::int32_t x) {
    const float f = forward(s, x);
    for (std::int32_t b = 0; b < blocks_; ++b) {
      const float *c = &c_[at(b, s, x)], *right = &d[panel(b, x)];
      for (std::int32_t i = 0; i < kLane; ++i)
        sum[b * kLane + i] = std::min(sum[b * kLane + i], f + c[i] + right[i]);
    }
  };
  for (std::int32_t x = s + 1; x < std::min(top + 1, t); ++x) other(x);
  for (std::int32_t x = std::max(top + 1, first); x < t; ++x) other(x);
  const auto d_at = [&](std::int32_t x, std::int64_t m) {
    if (m < 0) return kNever;
    m = std::min<std::int64_t>(m, units_);
    return d[panel(static_cast<std::int32_t>(m / kLane), x) + static_cast<std::size_t>(m % kLane)];
  };
  for (std::int32_t m = 0; m <= units_; ++m) {
    if (t == s + 1) sum[m] = l.reverse[static_cast<std::size_t>(m)];
    sum[m] = std::min(sum[m], l.forward + d_at(s + 1, std::int64_t{m} + l.state - l.tape));
  }
  for (std::int32_t b = 0; b < blocks_; ++b) std::copy_n(sum + b * kLane, kLane, &c_[at(b, s, t)]);
  for (std::int32_t m = 0; m <= units_; ++m) {
    const float keep = m >= l.state ? sum[m - l.state] : kNever;
    d[panel(m / kLane, s) + static_cast<std::size_t>(m % kLane)] =
        std::min(keep, l.forward + d_at(s + 1, std::int64_t{m} - l.tape));
  }
}

float ChainTable::stored(std::int32_t s, std::int32_t t, std::int64_t m) const {
  if (m < 0) return kNever;
  m = std::min<std::int64_t>(m, units_);
  return c_[at(static_cast<std::int32_t>(m / kLane), s, t) + static_cast<std::size_t>(m % kLane)];
}

void ChainTable::fill_column(std::int32_t s, std::int32_t t) {
  const auto wide = static_cast<std::size_t>(units_ + 1);
  if (column_t_ != t) {
    column_.assign(wide * static_cast<std::size_t>(n_ + 1), 0);
    column_t_ = column_from_ = t;
  }
  while (column_from_ > s) {
    const std::int32_t x = --column_from_;
    const Link& l = link(x);
    float* row = &column_[wide * static_cast<std::size_t>(x)];
    const float* next = row + wide;
    for (std::int32_t m = 0; m <= units_; ++m) {
      const float tape = m >= l.tape ? l.forward + next[m - l.tape] : kNever;
      row[m] = std::min(stored(x, t, std::int64_t{m} - l.state), tape);
    }
  }
}

float ChainTable::unstored(std::int32_t s, std::int32_t t, std::int64_t m) {
  if (m < 0) return kNever;
  if (s == t) return 0;
  fill_column(s, t);
  return column_[static_cast<std::size_t>(units_ + 1) * static_cast<std::size_t>(s) +
                 static_cast<std::size_t>(std::min<std::int64_t>(m, units_))];
}

std::int32_t ChainTable::split(std::int32_t s, std::int32_t t, std::int64_t m) {
  const Link& l = link(s);
  float best = l.forward + unstored(s + 1, t, m + l.state - l.tape);
  std::int32_t where = s;
  for (std::int32_t x = s + 1; x < t; ++x) {
    const float v = forward(s, x) + unstored(x, t, m) + stored(s, x, m);
    if (v < best) best = v, where = x;
  }
  return where;
}

bool ChainTable::stores(std::int32_t s, std::int32_t t, std::int64_t m) {
  const Link& l = link(s);
  return stored(s, t, m - l.state) < l.forward + unstored(s + 1, t, m - l.tape);
}

}  // namespace tidemark::schedule
