// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "tidemark/emit/writer.h"

namespace tidemark::emitting {
namespace {

// A box of elements from one strided place to another.
void write_box(const Shape& shape, const std::vector<std::int64_t>& from, std::int64_t from_offset,
               const std::vector<std::int64_t>& to, std::int64_t to_offset, const std::string& source,
               std::string& out) {
  if (shape.numel() == 0) return;
  const Loops l = merged(shape.sizes(), {to, from});
  out += nest(l, "    ",
              fmt::format("y[{}] = {}[{}];", index_of(l, 0, to_offset), source, index_of(l, 1, from_offset)));
}

}  // namespace

bool write_move(const Task& t, std::string& out) {
  const std::string_view op = t.node.op->name;
  const Attrs& attrs = t.node.attrs;
  const bool known = op == "concat" || op == "pad" || op == "update_slice" || op == "flip" ||
                     op == "contiguous" || op == "reshape" || op == "iota" || op == "assign" ||
                     op == "cumsum" || (op == "index_select" && t.input(0).type.shape.rank() == 1);
  if (!known) return false;
  const Value& y = t.output(0);
  out += "    " + declare(t.node, y, "y", t.out[0], false) + "\n";
  const std::vector<std::int64_t> to = strides_of(y.type.shape, y.layout);
  if (op == "iota") {
    out += fmt::format("    for (std::int64_t i = 0; i < {}; ++i) y[i] = static_cast<{}>(i);\n",
                       attrs.integer("n"), type_name(t.node, y.type.dtype));
    return true;
  }
  if (op == "assign") {
    out += fmt::format("    copy(y, {}, {});\n", t.in[1], y.type.bytes());
    return true;
  }
  for (std::size_t i = 0; i < t.in.size(); ++i)
    out += "    " + declare(t.node, t.input(i), fmt::format("x{}", i), t.in[i], true) + "\n";
  const auto strides = [&](std::size_t i) { return strides_of(t.input(i).type.shape, t.input(i).layout); };
  if (op == "index_select" || op == "cumsum") {
    if (t.input(0).type.shape.rank() != 1)
      refuse(t.node, "of more than one axis has no plain form in C++; leave it to the executor");
    const std::int64_t from = strides(0)[0], n = y.type.shape.numel();
    write_index_check(t, out);
    if (op == "index_select")
      out += fmt::format("    for (std::int64_t i = 0; i < {}; ++i) y[i] = x0[x1[i] * {}];\n", n, from);
    else
      // In the type that the kernel adds in (kernels/cpu/scan_axis.cpp).
      out += fmt::format(
          "    {} running = {};\n"
          "    for (std::int64_t i = 0; i < {}; ++i) y[i] = static_cast<{}>(running += x0[i * {}]);\n",
          !is_float(y.type.dtype) ? "std::int64_t"
          : attrs.flag("rounded") ? type_name(t.node, y.type.dtype)
                                  : "double",
          is_float(y.type.dtype) ? "-0.0" : "0", n, type_name(t.node, y.type.dtype), from);
  } else if (op == "contiguous") {
    write_box(y.type.shape, strides(0), 0, to, 0, "x0", out);
  } else if (op == "reshape") {
    const Shape& x = t.input(0).type.shape;
    write_box(x, strides(0), 0, row_major_strides(x), 0, "x0", out);
  } else if (op == "concat") {
    const auto axis = static_cast<std::size_t>(attrs.integer("axis"));
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < t.in.size(); ++i) {
      const Shape& part = t.input(i).type.shape;
      write_box(part, strides(i), 0, to, begin * to[axis], fmt::format("x{}", i), out);
      begin += part.sizes()[axis];
    }
  } else if (op == "pad") {
    std::int64_t offset = 0;
    for (std::size_t a = 0; a < to.size(); ++a) offset += attrs.integers("low")[a] * to[a];
    const auto fill = [&](std::int64_t from, std::int64_t end) {
      if (from < end)
        out += fmt::format("    for (std::int64_t i = {}; i < {}; ++i) y[i] = static_cast<{}>({});\n", from,
                           end, type_name(t.node, y.type.dtype), number(attrs.number("value")));
    };
    if (to.size() == 1) {
      fill(0, offset);
      fill(offset + t.input(0).type.shape.numel(), y.type.shape.numel());
    } else {
      fill(0, y.type.shape.numel());
    }
    write_box(t.input(0).type.shape, strides(0), 0, to, offset, "x0", out);
  } else if (op == "update_slice") {
    const auto axis = static_cast<std::size_t>(attrs.integer("axis"));
    // In place there is nothing to copy but the part; else what the part leaves.
    out += "    if (static_cast<const void*>(y) != x0) {\n";
    const std::int64_t begin = attrs.integer("begin"), end = begin + t.input(1).type.shape.sizes()[axis];
    const auto rest = [&](std::int64_t from, std::int64_t stop) {
      std::vector<std::int64_t> sizes = y.type.shape.sizes();
      sizes[axis] = stop - from;
      write_box(Shape(sizes), strides(0), from * strides(0)[axis], to, from * to[axis], "x0", out);
    };
    if (attrs.integer("step") == 1) {
      rest(0, begin);
      rest(end, y.type.shape.sizes()[axis]);
    } else {
      rest(0, y.type.shape.sizes()[axis]);
    }
    out += "    }\n";
    std::vector<std::int64_t> steps = to;
    steps[axis] *= attrs.integer("step");
    write_box(t.input(1).type.shape, strides(1), 0, steps, attrs.integer("begin") * to[axis], "x1", out);
  } else {  // flip
    const auto axis = static_cast<std::size_t>(attrs.integer("axis"));
    std::vector<std::int64_t> from = strides(0);
    const std::int64_t last = (y.type.shape.sizes()[axis] - 1) * from[axis];
    from[axis] = -from[axis];
    write_box(y.type.shape, from, last, to, 0, "x0", out);
  }
  return true;
}

}  // namespace tidemark::emitting
