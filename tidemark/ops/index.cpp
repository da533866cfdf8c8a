// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/index.h"

#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

// An index against an axis: the range it means. A position is a slice of one whose axis goes away.
struct Part {
  std::int64_t begin, end, step;
  bool drop;
};

std::int64_t within(std::int64_t i, std::int64_t n) {
  if (i < 0) i += n;
  return i < 0 ? 0 : i > n ? n : i;  // slices are cut to the axis, as in Python
}

Part resolve(const Index& index, const Shape& shape, int axis) {
  const std::int64_t n = shape[axis];
  if (index.position) {
    const std::int64_t p = *index.position < 0 ? *index.position + n : *index.position;
    if (p < 0 || p >= n)
      fail(Error::Kind::usage, "[index] {} vs axis {} of {}", *index.position, axis, to_string(shape));
    return {p, p + 1, 1, true};
  }
  if (index.part.step < 1)
    fail(Error::Kind::usage, "[index] a step of {} is not positive; use flip", index.part.step);
  const std::int64_t begin = within(index.part.begin.value_or(0), n);
  const std::int64_t end = within(index.part.end.value_or(n), n);
  return {begin, end < begin ? begin : end, index.part.step, false};
}

void check_count(const Tensor& x, const std::vector<Index>& indices) {
  if (indices.size() > x.shape().sizes().size())
    fail(Error::Kind::usage, "[index] {} indices vs {} with {} axes", indices.size(), to_string(x.shape()),
         x.rank());
}

// The part with every axis still there.
Tensor cut(const Tensor& x, const std::vector<Part>& parts, std::size_t count, Where where) {
  Tensor y = x;
  for (std::size_t a = 0; a < count; ++a)
    y = slice(y, static_cast<int>(a), parts[a].begin, parts[a].end, parts[a].step, where);
  return y;
}

// Writes innermost first: the part of x along the outer axes is read, changed and written back.
Tensor write_axes(const Tensor& x, const Tensor& part, const std::vector<Part>& parts, std::size_t axis,
                  Where where) {
  // An axis that is written from end to end is no part of what is asked; where none is left, the result is the part itself.
  while (axis < parts.size() && parts[axis].begin == 0 && parts[axis].step == 1 &&
         parts[axis].end == x.size(static_cast<int>(axis)))
    ++axis;
  if (axis == parts.size()) return part;
  const Part& p = parts[axis];
  const Tensor old = slice(x, static_cast<int>(axis), p.begin, p.end, p.step, where);
  return update_slice(x, write_axes(old, part, parts, axis + 1, where), static_cast<int>(axis), p.begin,
                      p.step, where);
}

}  // namespace

Operand::Operand(Indexed& part, Where w) : tensor(static_cast<Tensor>(part)), where(w) {}
Operand::Operand(Indexed&& part, Where w) : tensor(static_cast<Tensor>(part)), where(w) {}

Tensor read_part(const Tensor& x, const std::vector<Index>& indices, Where where) {
  const Called called("index", where);
  check_count(x, indices);
  std::vector<Part> parts;
  for (std::size_t a = 0; a < indices.size(); ++a)
    parts.push_back(resolve(indices[a], x.shape(), static_cast<int>(a)));
  const Tensor y = cut(x, parts, parts.size(), where);
  std::vector<std::int64_t> sizes;
  for (int a = 0; a < y.rank(); ++a) {
    if (static_cast<std::size_t>(a) >= parts.size() || !parts[static_cast<std::size_t>(a)].drop)
      sizes.push_back(y.size(a));
  }
  return reshape(y, sizes, where);
}

Tensor write_part(const Tensor& x, const std::vector<Index>& indices, const Operand& part) {
  const Called called("index", part.where);
  check_count(x, indices);
  if (!part.is_number && part.tensor.dtype() != x.dtype()) {
    fail(Error::Kind::usage, "[x[i] = v] dtypes differ: {} vs {}; cast one", to_string(x.type()),
         to_string(part.tensor.type()));
  }
  std::vector<Part> parts;
  std::vector<std::int64_t> kept, full;
  for (int a = 0; a < x.rank(); ++a) {
    const auto k = static_cast<std::size_t>(a);
    parts.push_back(k < indices.size() ? resolve(indices[k], x.shape(), a) : Part{0, x.size(a), 1, false});
    const std::int64_t n = (parts[k].end - parts[k].begin + parts[k].step - 1) / parts[k].step;
    full.push_back(n);
    if (!parts[k].drop) kept.push_back(n);
  }
  const Tensor value = part.is_number ? full_beside(x, {Shape(kept), x.dtype()}, part.number, part.where)
                                      : broadcast_to(part.tensor, Shape(kept), part.where);
  return write_axes(x, reshape(value, full, part.where), parts, 0, part.where);
}

Indexed::operator Tensor() const { return read_part(whole_, indices_, indices_.front().where); }
Indexed& Indexed::operator=(const Operand& part) {
  whole_ = write_part(whole_, indices_, part);
  return *this;
}
Indexed& Indexed::operator+=(const Operand& part) {
  whole_ =
      write_part(whole_, indices_,
                 Operand(Operand(read_part(whole_, indices_, part.where), part.where) + part, part.where));
  return *this;
}

const Index& no_index() {
  static const Index none(all);
  return none;
}
namespace {
std::vector<Index> given(std::initializer_list<const Index*> indices) {
  std::vector<Index> result;
  for (const Index* i : indices) {
    if (i != &no_index()) result.push_back(*i);
  }
  return result;
}
}  // namespace

Indexed Tensor::operator[](const Index& i) & { return Indexed(*this, {i}); }
Tensor Tensor::operator[](const Index& i) const& { return read_part(*this, {i}, i.where); }
Tensor Tensor::operator[](const Index& i) && { return read_part(*this, {i}, i.where); }
Indexed Tensor::operator()(const Index& a, const Index& b, const Index& c, const Index& d, const Index& e,
                           const Index& f) & {
  return Indexed(*this, given({&a, &b, &c, &d, &e, &f}));
}
Tensor Tensor::operator()(const Index& a, const Index& b, const Index& c, const Index& d, const Index& e,
                          const Index& f) const& {
  return read_part(*this, given({&a, &b, &c, &d, &e, &f}), a.where);
}
Tensor Tensor::operator()(const Index& a, const Index& b, const Index& c, const Index& d, const Index& e,
                          const Index& f) && {
  return read_part(*this, given({&a, &b, &c, &d, &e, &f}), a.where);
}

}  // namespace tidemark
