// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/ref/elementwise.h"

#include <limits>

#include "tidemark/kernels/cpu/tile.h"
#include "tidemark/kernels/ref/walk.h"

namespace tidemark::kernels {

std::unique_ptr<Kernel> map_reference(const KernelSpec& spec, TileFunction (*tile)(DType),
                                      const std::vector<double>& params) {
  const DType dtype = compute_dtype(spec.in.empty() ? spec.out[0].type.dtype : spec.in.back().type.dtype);
  const TileFunction function = tile(dtype);
  if (function == nullptr) return nullptr;
  const Shape shape = spec.out[0].type.shape;
  std::vector<Walk> in;
  for (const Value& v : spec.in) in.emplace_back(shape, v);
  const Walk out(shape, spec.out[0]);
  return make_kernel(0, [=](const Operands& o) {
    for (std::int64_t i = 0; i < shape.numel(); ++i) {
      alignas(8) std::byte x[4][8], y[8];
      TileArgs args{.in = {x[0], x[1], x[2], x[3]}, .out = y, .n = 1, .params = params.data()};
      for (std::size_t k = 0; k < in.size(); ++k)
        convert_function(in[k].dtype, compute_dtype(in[k].dtype))(in[k].at(o.in[k], i), x[k], 1);
      function(args);
      convert_function(compute_dtype(out.dtype), out.dtype)(y, out.at(o.out[0], i), 1);
    }
  });
}

std::unique_ptr<Kernel> reduce_reference(const KernelSpec& spec, Fold fold) {
  const Shape shape = spec.in[0].type.shape;
  const Walk in(shape, spec.in[0]);
  // The result, seen with the folded axes as ones, is walked with stride 0 along them.
  std::vector<std::int64_t> kept(shape.sizes());
  for (const std::int64_t a : spec.attrs.integers("axes")) kept[static_cast<std::size_t>(a)] = 1;
  Value result = spec.out[0];
  if (!spec.attrs.flag("keep")) {
    std::vector<std::int64_t> strides;
    const std::vector<std::int64_t> own = strides_of(result.type.shape, result.layout);
    std::vector<bool> folded(kept.size(), false);
    for (const std::int64_t a : spec.attrs.integers("axes")) folded[static_cast<std::size_t>(a)] = true;
    for (std::size_t a = 0, k = 0; a < kept.size(); ++a) strides.push_back(folded[a] ? 0 : own[k++]);
    result.layout.strides = strides;
  }
  result.type.shape = Shape(kept);
  const Walk out(shape, result);
  const bool floats = is_float(in.dtype);
  const std::int64_t results = result.type.shape.numel();
  return make_kernel(results * 8, [=](const Operands& o) {
    auto* sums = static_cast<double*>(o.workspace);
    auto* integers = static_cast<std::int64_t*>(o.workspace);
    const Walk dense(shape, Value{.type = {Shape(kept), DType::f64}});
    const double identity = fold == Fold::sum    ? 0
                            : fold == Fold::prod ? 1
                            : fold == Fold::max  ? -std::numeric_limits<double>::infinity()
                                                 : std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < results; ++i) {
      if (floats)
        sums[i] = identity;
      else
        integers[i] = fold == Fold::max   ? std::numeric_limits<std::int64_t>::lowest()
                      : fold == Fold::min ? std::numeric_limits<std::int64_t>::max()
                                          : static_cast<std::int64_t>(identity);
    }
    const auto apply = [&](auto a, auto b) {
      if (fold == Fold::sum) return a + b;
      if (fold == Fold::prod) return a * b;
      if (a != a || b != b) return a != a ? a : b;
      return (fold == Fold::max) == (a > b) ? a : b;
    };
    for (std::int64_t i = 0; i < shape.numel(); ++i) {
      const std::int64_t k = dense.offset(i);
      if (floats) {
        double x;
        convert_function(in.dtype, DType::f64)(in.at(o.in[0], i), &x, 1);
        sums[k] = apply(sums[k], x);
      } else {
        std::int64_t x;
        convert_function(in.dtype, DType::i64)(in.at(o.in[0], i), &x, 1);
        integers[k] = apply(integers[k], x);
      }
    }
    const Walk to(Shape(kept), result);
    for (std::int64_t i = 0; i < results; ++i) {
      if (floats)
        convert_function(DType::f64, out.dtype)(sums + i, to.at(o.out[0], i), 1);
      else
        convert_function(DType::i64, out.dtype)(integers + i, to.at(o.out[0], i), 1);
    }
  });
}

}  // namespace tidemark::kernels
