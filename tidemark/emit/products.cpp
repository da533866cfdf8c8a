// Products and losses as plain loops: the reference kernels' sums, which libraries and tiles add in other orders. They agree
// with the executor to rounding, not to the bit.
// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "tidemark/emit/writer.h"

namespace tidemark::emitting {
namespace {

using Sizes = std::vector<std::int64_t>;

void write_matmul(const Task& t, std::string& out) {
  const Shape &a = t.input(0).type.shape, &b = t.input(1).type.shape, &y = t.output(0).type.shape;
  if (a.rank() < 2 || b.rank() < 2) refuse(t.node, "a vector among the factors; make it a matrix");
  const int batch = y.rank() - 2;
  Sizes sizes(y.begin(), y.begin() + batch);
  sizes.push_back(y[-2]);
  const auto spread = [&](const Value& v, int row) {
    const Sizes own = strides_of(v.type.shape, v.layout);
    const int rank = v.type.shape.rank(), shift = y.rank() - rank;
    Sizes strides(static_cast<std::size_t>(batch), 0);
    for (int d = shift; d < batch; ++d) {
      if (v.type.shape[d - shift] != 1)
        strides[static_cast<std::size_t>(d)] = own[static_cast<std::size_t>(d - shift)];
    }
    strides.push_back(row < 0 ? 0 : own[static_cast<std::size_t>(rank - 2 + row)]);
    return strides;
  };
  const auto last = [&](const Value& v, int back) {
    const Sizes own = strides_of(v.type.shape, v.layout);
    return own[own.size() - static_cast<std::size_t>(back)];
  };
  const Value &va = t.input(0), &vb = t.input(1), &vy = t.output(0);
  const Loops l = merged(sizes, {spread(vy, 0), spread(va, 0), spread(vb, -1)});
  const std::string wide =
      vy.type.dtype == DType::f32 || vy.type.dtype == DType::f64 ? "double" : "std::int64_t";
  std::string body = fmt::format("for (std::int64_t j = 0; j < {}; ++j) {{\n  {} sum = 0;\n", y[-1], wide);
  body += fmt::format(
      "  for (std::int64_t k = 0; k < {}; ++k) sum += static_cast<{}>(x0[{} + k * {}]) * x1[{} + k * {} + j "
      "* {}];\n",
      a[-1], wide, index_of(l, 1), last(va, 1), index_of(l, 2), last(vb, 2), last(vb, 1));
  body += fmt::format("  y0[{} + j * {}] = static_cast<{}>(sum);\n}}\n", index_of(l, 0), last(vy, 1),
                      type_name(t.node, vy.type.dtype));
  std::string text = nest(l, "    ", body);
  const std::size_t hint = text.find("#pragma GCC ivdep\n");
  if (hint != std::string::npos) text.erase(hint, 18);
  out += text;
}

void write_loss(const Task& t, bool backward, std::string& out) {
  const Shape& x = t.input(0).type.shape;
  const std::int64_t classes = x[-1], rows = classes == 0 ? 0 : x.numel() / classes;
  const std::string type = type_name(t.node, t.input(0).type.dtype);
  out += fmt::format(
      "    for (std::int64_t i = 0; i < {}; ++i) {{\n      const {}* x = x0 + i * {};\n      const "
      "std::int64_t label = x1[i];\n",
      rows, type, classes);
  const std::int64_t ignore = t.node.attrs.integer("ignore");
  if (!backward) {
    out += fmt::format(
        "      {0} most = x[0];\n      for (std::int64_t j = 1; j < {1}; ++j) most = scalar::maximum(most, "
        "x[j]);\n      double sum = 0;\n"
        "      for (std::int64_t j = 0; j < {1}; ++j) sum += scalar::exp(x[j] - most);\n      const auto lse "
        "= static_cast<{0}>(most + std::log(sum));\n"
        "      y1[i] = lse;\n      y0[i] = label == {2} ? {0}(0) : lse - "
        "x[label];\n    }}\n",
        type, classes, ignore);
  } else {
    out += fmt::format(
        "      const bool counts = label != {2} && label >= 0 && label < {1};\n"
        "      for (std::int64_t j = 0; j < {1}; ++j) y0[i * {1} + j] = counts ? x3[i] * (scalar::exp(x[j] - "
        "x2[i]) - (j == label ? {0}(1) : {0}(0))) : {0}(0);\n    }}\n",
        type, classes, ignore);
  }
}

}  // namespace

bool write_product(const Task& t, std::string& out) {
  const std::string_view op = t.node.op->name;
  if (op != "matmul" && op != "cross_entropy" && op != "cross_entropy_backward") return false;
  declare_operands(t, out);
  write_index_check(t, out);
  if (t.output(0).type.shape.numel() == 0) return true;
  if (op == "matmul") {
    write_matmul(t, out);
  } else {
    write_loss(t, op != "cross_entropy", out);
  }
  return true;
}

}  // namespace tidemark::emitting
