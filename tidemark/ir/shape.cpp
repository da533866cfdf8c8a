// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ir/shape.h"

#include <algorithm>
#include <array>

#include "tidemark/base/text.h"

namespace tidemark {

namespace {
constexpr std::array<const char*, 8> kDTypeNames{"f64", "f32", "bf16", "f16", "i64", "i32", "u8", "bool"};
}

const char* name_of(DType dtype) { return kDTypeNames[static_cast<std::size_t>(dtype)]; }

DType dtype_named(std::string_view name) {
  for (std::size_t i = 0; i < kDTypeNames.size(); ++i) {
    if (name == kDTypeNames[i]) return static_cast<DType>(i);
  }
  fail(Error::Kind::usage, "[dtype] '{}' is not one of f64 f32 bf16 f16 i64 i32 u8 bool", name);
}

Shape::Shape(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)) {
  std::int64_t product = 1;
  bool empty = false;
  for (const std::int64_t s : sizes_) {
    if (s < 0) fail(Error::Kind::usage, "[shape] size {} is negative in ({})", s, join(sizes_, ","));
    if (s == 0) empty = true;
    if (!empty && s > 0 && product > (std::int64_t{1} << 48) / s) {
      fail(Error::Kind::usage, "[shape] ({}) has more than 2^48 elements", join(sizes_, ","));
    }
    if (s > 0) product *= s;
  }
}

std::int64_t Shape::numel() const {
  std::int64_t n = 1;
  for (const std::int64_t s : sizes_) n *= s;
  return n;
}

int Shape::normalise(int axis) const {
  const int r = rank();
  if (axis < -r || axis >= r)
    fail(Error::Kind::usage, "[shape] axis {} vs rank {} of {}", axis, r, to_string(*this));
  return axis < 0 ? axis + r : axis;
}

std::string to_string(const Shape& shape) { return "(" + join(shape.sizes(), ",") + ")"; }
std::string to_string(const Type& type) { return name_of(type.dtype) + to_string(type.shape); }

Shape broadcast(const char* op, const Shape& a, const Shape& b) {
  if (a == b) return a;
  const int rank = std::max(a.rank(), b.rank());
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(rank));
  for (int i = 1; i <= rank; ++i) {
    const std::int64_t sa = i <= a.rank() ? a[-i] : 1;
    const std::int64_t sb = i <= b.rank() ? b[-i] : 1;
    if (sa != sb && sa != 1 && sb != 1) {
      fail(Error::Kind::usage, "[{}] shapes do not broadcast: {} vs {}", op, to_string(a), to_string(b));
    }
    sizes[static_cast<std::size_t>(rank - i)] = sa == 1 ? sb : sa;
  }
  return Shape(std::move(sizes));
}

std::vector<std::int64_t> row_major_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.sizes().size());
  std::int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[static_cast<std::size_t>(i)] = step;
    step *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

std::vector<std::int64_t> strides_of(const Shape& shape, const Layout& layout) {
  return layout.strides.empty() ? row_major_strides(shape) : layout.strides;
}

Layout permuted_layout(const Shape& shape, const std::vector<int>& order) {
  Layout layout;
  layout.strides.resize(shape.sizes().size());
  std::int64_t step = 1;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    layout.strides[static_cast<std::size_t>(*it)] = step;
    step *= std::max<std::int64_t>(shape[*it], 1);
  }
  if (layout.strides == row_major_strides(shape)) layout.strides.clear();
  return layout;
}

std::string to_string(const Layout& layout) {
  if (layout.dense_row_major()) return "";
  if (!layout.blocked.empty()) return fmt::format("{{{}:{}}}", layout.blocked, layout.blocked_bytes);
  std::string text = "{" + join(layout.strides, ",");
  if (layout.offset != 0) text += fmt::format("+{}", layout.offset);
  return text + "}";
}

}  // namespace tidemark
