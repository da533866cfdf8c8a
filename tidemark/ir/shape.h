// Shapes: sizes of the axes, outermost first. () is a scalar; an axis may have size 0.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "tidemark/base/api.h"
#include "tidemark/ir/dtype.h"

namespace tidemark {

class TIDEMARK_API Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes) : Shape(std::vector<std::int64_t>(sizes)) {}
  // Throws Error(usage) on a negative size, or where the product does not fit 2^48.
  explicit Shape(std::vector<std::int64_t> sizes);

  int rank() const { return static_cast<int>(sizes_.size()); }
  std::int64_t numel() const;
  // Axes may be negative, from the end. Out of range: Error(usage).
  std::int64_t operator[](int axis) const { return sizes_[static_cast<std::size_t>(normalise(axis))]; }
  int normalise(int axis) const;
  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  auto begin() const { return sizes_.begin(); }
  auto end() const { return sizes_.end(); }
  bool operator==(const Shape&) const = default;

 private:
  std::vector<std::int64_t> sizes_;
};

TIDEMARK_API std::string to_string(const Shape& shape);  // "(3,4)"

// What an array is, apart from its contents.
struct Type {
  Shape shape;
  DType dtype = DType::f32;
  Bytes bytes() const { return shape.numel() * size_of(dtype); }
  bool operator==(const Type&) const = default;
};
TIDEMARK_API std::string to_string(const Type& type);  // "f32(3,4)"

// NumPy's rule: aligned from the right, sizes equal or 1. Throws `[op] (3,4) vs (5,4)`.
TIDEMARK_API Shape broadcast(const char* op, const Shape& a, const Shape& b);
TIDEMARK_API std::vector<std::int64_t> row_major_strides(const Shape& shape);

// How elements lie in memory, in units of elements. Default: dense and row-major.
struct Layout {
  std::vector<std::int64_t> strides;  // empty: dense row-major
  std::int64_t offset = 0;            // of element 0 from the start of the storage (views)
  std::string blocked;                // a library's own form, by name; strides then mean nothing
  Bytes blocked_bytes = 0;
  bool dense_row_major() const { return strides.empty() && offset == 0 && blocked.empty(); }
  bool operator==(const Layout&) const = default;
};
TIDEMARK_API std::vector<std::int64_t> strides_of(const Shape& shape, const Layout& layout);
// Axis order in memory, outermost first, e.g. {0, 2, 3, 1} for channels-last; dense. Row-major gives the
// default Layout.
TIDEMARK_API Layout permuted_layout(const Shape& shape, const std::vector<int>& order);
TIDEMARK_API std::string to_string(
    const Layout& layout);  // "" for row-major, else "{s:36,1,12,3}" and the like

}  // namespace tidemark
