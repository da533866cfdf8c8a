// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/product.h"

namespace tidemark::kernels {

std::int64_t Product::batches() const {
  std::int64_t count = 1;
  for (const Axis& axis : batch) count *= axis.size;
  return count;
}

std::array<std::int64_t, 3> Product::offsets(std::int64_t i) const {
  std::array<std::int64_t, 3> offset{0, 0, 0};
  for (auto axis = batch.rbegin(); axis != batch.rend(); ++axis) {
    const std::int64_t at = i % axis->size;
    i /= axis->size;
    offset[0] += at * axis->a;
    offset[1] += at * axis->b;
    offset[2] += at * axis->c;
  }
  return offset;
}

Product product_of(const KernelSpec& spec) {
  const Value &a = spec.in[0], &b = spec.in[1], &c = spec.out[0];
  const auto stride = [](const Value& v, const std::vector<std::int64_t>& strides, int from_end) {
    const int axis = v.type.shape.rank() - from_end;
    return axis < 0 || v.type.shape[axis] == 1 ? 0 : strides[static_cast<std::size_t>(axis)];
  };
  const auto sa = strides_of(a.type.shape, a.layout);
  const auto sb = strides_of(b.type.shape, b.layout);
  const auto sc = strides_of(c.type.shape, c.layout);
  Product p{.m = c.type.shape[-2], .n = c.type.shape[-1], .k = a.type.shape[-1]};
  p.a_m = sa[sa.size() - 2], p.a_k = sa.back();
  p.b_k = sb[sb.size() - 2], p.b_n = sb.back();
  p.c_m = sc[sc.size() - 2], p.c_n = sc.back();
  // From the inside out; an axis joins the one inside it where all three arrays step evenly over both.
  std::vector<Product::Axis> inner_first;
  for (int i = 3; i <= c.type.shape.rank(); ++i) {
    const Product::Axis axis{c.type.shape[-i], stride(a, sa, i), stride(b, sb, i), stride(c, sc, i)};
    if (axis.size == 1) continue;
    if (inner_first.empty() && axis.b == 0 && axis.a == p.m * p.a_m && axis.c == p.m * p.c_m) {
      p.m *= axis.size;
      continue;
    }
    if (!inner_first.empty()) {
      Product::Axis& last = inner_first.back();
      if (axis.a == last.a * last.size && axis.b == last.b * last.size && axis.c == last.c * last.size) {
        last.size *= axis.size;
        continue;
      }
    }
    inner_first.push_back(axis);
  }
  p.batch.assign(inner_first.rbegin(), inner_first.rend());
  return p;
}

}  // namespace tidemark::kernels
