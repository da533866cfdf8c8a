// Ops of networks (convolutions, pooling, norms, attention, rows by their numbers) as calls of the plain functions in
// networks.txt: the reference kernels' formulas. They agree with the executor to rounding, not to the bit.
// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "tidemark/emit/writer.h"

namespace tidemark::emitting {
namespace {

std::string list(const std::vector<std::int64_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ", "));
}

std::string grid(const Value& v) {
  return fmt::format("Grid{{{}, {}}}", list(v.type.shape.sizes()), list(strides_of(v.type.shape, v.layout)));
}

std::string operand(char kind, std::size_t i, bool there = true) {
  return there ? fmt::format("{}{}", kind, i) : std::string("nullptr");
}

void write_conv(const Task& t, std::string_view op, std::string& out) {
  const Value& x = op == "conv2d_backward_data" ? t.output(0) : t.input(0);
  const Value& y = op == "conv2d" ? t.output(0) : t.input(op == "conv2d_backward_data" ? 0 : 1);
  const Shape& w = (op == "conv2d_backward_weights" ? t.output(0) : t.input(1)).type.shape;
  const Attrs& a = t.node.attrs;
  out += fmt::format("    {}({}, {}, Taps{{{}, {}, {}, {}, {}, {}}}, x0, x1, y0);\n", op, grid(x), grid(y),
                     w[2], w[3], list(a.integers("stride")), list(a.integers("padding")),
                     list(a.integers("dilation")), a.integer("groups"));
}

void write_pool(const Task& t, std::string_view op, std::string& out) {
  const bool forward = op == "max_pool2d" || op == "avg_pool2d" || op == "max_pool2d_gather";
  const Value &x = forward ? t.input(0) : t.output(0), &y = forward ? t.output(0) : t.input(0);
  const Attrs& a = t.node.attrs;
  const auto axis = [&](std::size_t i) {
    const bool fixed = a.find("kernel") != nullptr;
    const auto number = [&](const char* what) { return fixed ? a.integers(what)[i] : std::int64_t{0}; };
    const int d = static_cast<int>(i) + 2;
    return fmt::format("PoolAxis{{{}, {}, {}, {}, {}}}", x.type.shape[d], y.type.shape[d], number("kernel"),
                       number("stride"), number("padding"));
  };
  if (op == "max_pool2d")
    out += fmt::format("    max_pool2d({}, {}, {}, {}, {}, x0, y0, y1);\n", grid(x), grid(y),
                       grid(t.output(1)), axis(0), axis(1));
  else if (op == "max_unpool2d" || op == "max_pool2d_gather")
    out += fmt::format("    {}({}, {}, {}, x0, x1, y0);\n", op, grid(x), grid(y), grid(t.input(1)));
  else
    out += fmt::format("    {}({}, {}, {}, {}, {}, x0, y0);\n", op, grid(x), grid(y), axis(0), axis(1),
                       a.integer("include_pad", 1) != 0);
}

void write_batch_norm(const Task& t, bool backward, std::string& out) {
  const Value& x = t.input(0);
  const Shape& shape = x.type.shape;
  std::int64_t inner = 1;
  for (int i = 2; i < shape.rank(); ++i) inner *= shape[i];
  out += fmt::format("    batch_norm{}(Channels{{{}, {}, {}, {}}}, {}, {});\n", backward ? "_backward" : "",
                     shape[0], shape[1], inner, inner == 1 || !x.layout.dense_row_major(),
                     number(t.node.attrs.number("epsilon")),
                     backward ? "x0, x1, x2, x3, x4, y0, y1, y2" : "x0, x1, x2, y0, y1, y2");
}

void write_row_norm(const Task& t, bool centred, bool backward, std::string& out) {
  const Shape& shape = t.input(0).type.shape;
  const std::int64_t n = shape[-1], rows = n == 0 ? 0 : shape.numel() / n;
  const std::size_t in = t.in.size(), statistics = centred ? 2 : 1;
  if (!backward) {
    const bool affine = in > 1;
    out +=
        fmt::format("    row_norm({}, {}, {}, x0, {}, {}, y0, {}, {});\n", rows, n,
                    number(t.node.attrs.number("epsilon")), operand('x', 1, affine),
                    operand('x', 2, affine && centred), operand('y', 1, centred), operand('y', statistics));
  } else {
    const bool affine = in > 2 + statistics;
    const std::size_t first = affine ? 3 : 2;
    out += fmt::format("    row_norm_backward({}, {}, x0, x1, {}, {}, {}, y0, {}, {});\n", rows, n,
                       operand('x', 2, affine), operand('x', first, centred),
                       operand('x', first + statistics - 1), operand('y', 1, affine),
                       operand('y', 2, affine && centred));
  }
}

void write_attention(const Task& t, bool backward, std::string& out) {
  const auto heads = [](const Value& v) {
    const std::vector<std::int64_t> s = strides_of(v.type.shape, v.layout);
    return fmt::format("Heads{{{}, {}, {}}}", s[0], s[1], s[2]);
  };
  const std::size_t first = backward ? 1 : 0;
  const Value &q = t.input(first), &k = t.input(first + 1), &v = t.input(first + 2);
  const Shape &sq = q.type.shape, &sk = k.type.shape;
  const std::string shape = fmt::format("Attention{{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}}", sq[0], sq[1],
                                        sk[1], sq[2], sk[2], t.node.attrs.flag("causal"),
                                        number(t.node.attrs.number("scale")), heads(q), heads(k), heads(v));
  if (backward)
    out += fmt::format(
        "    attention_backward<{}>({}, {}, {}, {}, {}, x0, x1, x2, x3, x4, x5, y0, y1, y2);\n", sq[3], shape,
        heads(t.input(0)), heads(t.output(0)), heads(t.output(1)), heads(t.output(2)));
  else
    out += fmt::format("    attention<{}>({}, {}, x0, x1, x2, y0, y1);\n", sq[3], shape, heads(t.output(0)));
}

void write_rows(const Task& t, std::string_view op, std::string& out) {
  const bool take = op == "embedding" || op == "index_select", onto = op == "index_add_to";
  const Shape& table = (take ? t.input(0) : t.output(0)).type.shape;
  const int axis = static_cast<int>(t.node.attrs.integer("axis", 0));
  std::int64_t outer = 1, inner = 1;
  for (int a = 0; a < axis; ++a) outer *= table[a];
  for (int a = axis + 1; a < table.rank(); ++a) inner *= table[a];
  const std::int64_t n = t.input(take || onto ? 1 : 0).type.shape.numel();
  out += fmt::format("    {}({}, {}, {}, {}, {});\n", take ? "take_rows" : "add_rows", outer, table[axis],
                     inner, n,
                     take   ? "x0, x1, y0"
                     : onto ? "x0, x1, x2, y0"
                            : "nullptr, x0, x1, y0");
}

using Write = void (*)(const Task&, std::string_view, std::string&);
struct Form {
  std::string_view op;
  Write write;
};
constexpr Form kForms[] = {
    {"conv2d", write_conv},
    {"conv2d_backward_data", write_conv},
    {"conv2d_backward_weights", write_conv},
    {"max_pool2d", write_pool},
    {"max_unpool2d", write_pool},
    {"max_pool2d_gather", write_pool},
    {"avg_pool2d", write_pool},
    {"avg_pool2d_backward", write_pool},
    {"batch_norm",
     [](const Task& t, std::string_view, std::string& out) { write_batch_norm(t, false, out); }},
    {"batch_norm_backward",
     [](const Task& t, std::string_view, std::string& out) { write_batch_norm(t, true, out); }},
    {"layer_norm",
     [](const Task& t, std::string_view, std::string& out) { write_row_norm(t, true, false, out); }},
    {"layer_norm_backward",
     [](const Task& t, std::string_view, std::string& out) { write_row_norm(t, true, true, out); }},
    {"rms_norm",
     [](const Task& t, std::string_view, std::string& out) { write_row_norm(t, false, false, out); }},
    {"rms_norm_backward",
     [](const Task& t, std::string_view, std::string& out) { write_row_norm(t, false, true, out); }},
    {"attention", [](const Task& t, std::string_view, std::string& out) { write_attention(t, false, out); }},
    {"attention_backward",
     [](const Task& t, std::string_view, std::string& out) { write_attention(t, true, out); }},
    {"embedding", write_rows},
    {"index_select", write_rows},
    {"index_add", write_rows},
    {"index_add_to", write_rows},
};

}  // namespace

bool write_network(const Task& t, std::string& out) {
  for (const Form& form : kForms) {
    if (form.op != t.node.op->name) continue;
    declare_operands(t, out);
    write_index_check(t, out);
    if (t.output(0).type.shape.numel() > 0) form.write(t, form.op, out);
    return true;
  }
  return false;
}

}  // namespace tidemark::emitting
