// x[2], x[Slice{0, 3}], x(all, 2, Slice{1, {}, 2}); assigning to such a part gives x a new version.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tidemark/ops/operand.h"

namespace tidemark {

struct Slice {
  std::optional<std::int64_t> begin{}, end{};
  std::int64_t step = 1;
};
inline constexpr struct All {
} all{};

// One axis: a position (the axis goes away) or a slice.
struct Index {
  Index(std::int64_t p, Where w = Where::current()) : position(p), where(w) {}  // NOLINT: implicit by design
  Index(int p, Where w = Where::current()) : position(p), where(w) {}           // NOLINT
  Index(const Slice& s, Where w = Where::current()) : part(s), where(w) {}      // NOLINT
  Index(All, Where w = Where::current()) : where(w) {}                          // NOLINT
  std::optional<std::int64_t> position;
  Slice part;
  Where where;  // the user's line
};

class TIDEMARK_API Indexed {
 public:
  Indexed(Tensor& whole, std::vector<Index> indices) : whole_(whole), indices_(std::move(indices)) {}
  operator Tensor() const;  // NOLINT: reads the part
  Indexed& operator=(const Operand& part);
  Indexed& operator=(const Indexed& part) { return *this = Operand(static_cast<Tensor>(part)); }
  Indexed& operator+=(const Operand& part);

 private:
  Tensor& whole_;
  std::vector<Index> indices_;
};

TIDEMARK_API Tensor read_part(const Tensor& x, const std::vector<Index>& indices,
                              Where where = Where::current());
TIDEMARK_API Tensor write_part(const Tensor& x, const std::vector<Index>& indices, const Operand& part);

}  // namespace tidemark
