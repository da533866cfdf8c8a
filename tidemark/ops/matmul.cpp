// Matrix products and einsum.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/matmul.h"

#include <algorithm>

#include "tidemark/ir/cut.h"
#include "tidemark/kernels/cpu/matmul.h"
#include "tidemark/kernels/ref/matmul.h"
#include "tidemark/kernels/strips.h"
#include "tidemark/ops/channels.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/table.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

Shape leading(const Shape& shape) { return Shape(std::vector<std::int64_t>(shape.begin(), shape.end() - 2)); }

std::vector<Type> infer_matmul(const InferArgs& args) {
  const Type &a = args.in[0], &b = args.in[1];
  if (a.dtype != b.dtype || a.dtype == DType::boolean) {
    fail(Error::Kind::usage, "[matmul] dtypes {} x {}; cast to one number type", name_of(a.dtype),
         name_of(b.dtype));
  }
  if (a.shape.rank() < 2 || b.shape.rank() < 2) {
    fail(Error::Kind::usage, "[matmul] {} x {}: an operand has no axes to multiply over", to_string(a.shape),
         to_string(b.shape));
  }
  if (a.shape[-1] != b.shape[-2]) {
    fail(Error::Kind::usage, "[matmul] inner sizes differ: {} x {}", to_string(a.shape), to_string(b.shape));
  }
  std::vector<std::int64_t> sizes = broadcast("matmul", leading(a.shape), leading(b.shape)).sizes();
  sizes.insert(sizes.end(), {a.shape[-2], b.shape[-1]});
  return {{Shape(std::move(sizes)), a.dtype}};
}

Tensor rows(const Tensor& x) {
  const std::int64_t columns = x.size(-1);
  return reshape(x, {leading(x.shape()).numel() * x.size(-2), columns});
}

Tensors matmul_vjp(const Rule& r) {
  const Tensor &a = r.x(0), &b = r.x(1);
  const Tensor ct = r.ct();
  Tensor da, db;
  if (r.needs(0)) da = matmul(ct, transpose(b));
  if (r.needs(1)) {
    // A b shared by the whole batch: one long product instead of a batch of them and its sum.
    const bool shared = leading(b.shape()).numel() == 1 && a.rank() > 2;
    db = shared ? reshape(matmul(transpose(rows(a)), rows(ct)), b.shape().sizes()) : matmul(transpose(a), ct);
  }
  return {da, db};
}

Tensors matmul_jvp(const Rule& r) {
  Tensor dy;
  if (r.has_dx(0)) dy = matmul(r.dx(0), r.x(1));
  if (r.has_dx(1)) {
    const Tensor other = matmul(r.x(0), r.dx(1));
    dy = dy.defined() ? dy + other : other;
  }
  return {dy};
}

// By rows of a, columns of b or leading axes; over the inner axis the parts add up.
std::optional<Cut> matmul_cut(const CutArgs& args) {
  const int ranks[] = {args.in[0].shape.rank(), args.in[1].shape.rank()}, rank = args.out[0].shape.rank();
  const int from = args.known[0] >= 0 ? 0 : args.known[1] >= 0 ? 1 : -1;
  if (from < 0 && args.wanted < 0) return std::nullopt;
  // Counted from the right, as the leading axes are aligned.
  const int axis = from < 0 ? args.wanted - rank : args.known[static_cast<std::size_t>(from)] - ranks[from];
  Cut cut{{kWhole, kWhole}, {rank + axis}, args.attrs};
  if (axis < -2) {
    for (const std::size_t i : {0, 1}) {
      const int own = ranks[i] + axis;
      if (own >= 0 && args.in[i].shape[own] == args.out[0].shape[rank + axis]) cut.in[i] = own;
    }
  } else if (from >= 0 && axis == (from == 0 ? -1 : -2)) {
    cut = {{ranks[0] - 1, ranks[1] - 2}, {kAdded}, args.attrs};
  } else {
    const std::size_t i = axis == -2 ? 0 : 1;
    cut.in[i] = ranks[i] + axis;
  }
  return cut;
}

Cost matmul_cost(const KernelSpec& spec) {
  Cost cost;
  for (const Value& v : spec.in) cost.bytes += static_cast<double>(v.type.bytes());
  cost.bytes += static_cast<double>(spec.out[0].type.bytes());
  cost.flops = 2.0 * static_cast<double>(spec.out[0].type.shape.numel()) *
               static_cast<double>(spec.in[0].type.shape[-1]);
  return cost;
}

// Row- or column-major in the last two axes; leading axes may step as they like.
bool matmul_accepts(const KernelSpec& spec, int input) {
  const Value& v = array_of(spec, input);
  if (input >= static_cast<int>(spec.in.size())) return v.layout.dense_row_major();
  if (!v.layout.blocked.empty()) return input == 1 && kernels::in_strips(v.layout);
  const auto strides = strides_of(v.type.shape, v.layout);
  const std::size_t n = strides.size();
  const auto unit = [&](std::size_t axis) {
    return strides[axis] == 1 || v.type.shape[static_cast<int>(axis)] <= 1;
  };
  return std::all_of(strides.begin(), strides.end(), [](std::int64_t s) { return s >= 0; }) &&
         strides[n - 1] + strides[n - 2] > 0 && (unit(n - 1) || unit(n - 2));
}

// A large weight that several products with few rows share, as those of an unrolled recurrent net: in strips it is read
// twice as fast, and four passes over it make them.
std::optional<Layout> matmul_packed(const KernelSpec& spec, int input, int uses) {
  constexpr std::int64_t kFewRows = 28, kLarge = 1 << 16;
  constexpr int kEnoughUses = 8;
  const Type &a = spec.in[0].type, &b = spec.in[1].type;
  if (input != 1 || uses < kEnoughUses || b.shape.rank() != 2 || b.dtype != DType::f32) return std::nullopt;
  if (b.shape.numel() < kLarge || a.shape.numel() == 0 || a.shape.numel() / a.shape[-1] > kFewRows)
    return std::nullopt;
  return kernels::strips_layout(b);
}

std::vector<Sample> matmul_samples() {
  const auto f64 = [](std::initializer_list<std::int64_t> sizes) { return Type{Shape(sizes), DType::f64}; };
  return {{.in = {f64({3, 4}), f64({4, 5})}},      {.in = {f64({1, 1}), f64({1, 1})}},
          {.in = {f64({2, 3, 17}), f64({17, 9})}}, {.in = {f64({2, 1, 3, 4}), f64({5, 4, 2})}},
          {.in = {f64({4, 3}), f64({2, 3, 2})}},   {.in = {f64({0, 3}), f64({3, 2})}},
          {.in = {f64({2, 0}), f64({0, 3})}}};
}

constinit const Op matmul_op{
    .name = "matmul",
    .doc = "y = a b over the last two axes; leading axes broadcast.",
    .infer = infer_matmul,
    .vjp = matmul_vjp,
    .jvp = matmul_jvp,
    .cut = matmul_cut,
    .cost = matmul_cost,
    .kernel = kernels::matmul,
    .reference = kernels::matmul_reference,
    .accepts = matmul_accepts,
    .packed = matmul_packed,
    .samples = matmul_samples,
};

// einsum: the labels of a spec, and where each one occurs.
using Labels = std::string;

bool has(const Labels& labels, char c) { return labels.find(c) != Labels::npos; }

struct Contraction {
  std::vector<Labels> in;
  Labels out;
};

Contraction parse_einsum(const std::string& spec, std::size_t operands) {
  std::string text;
  std::copy_if(spec.begin(), spec.end(), std::back_inserter(text), [](char c) { return c != ' '; });
  Contraction c;
  const std::size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  for (std::size_t begin = 0;;) {
    const std::size_t comma = left.find(',', begin);
    c.in.push_back(left.substr(begin, comma - begin));
    if (comma == std::string::npos) break;
    begin = comma + 1;
  }
  if (c.in.size() != operands) {
    fail(Error::Kind::usage, "[einsum] '{}' names {} operands vs {} given", spec, c.in.size(), operands);
  }
  if (arrow != std::string::npos) {
    c.out = text.substr(arrow + 2);
  } else {  // NumPy's rule: the labels that occur once, sorted
    std::copy_if(left.begin(), left.end(), std::back_inserter(c.out),
                 [&](char l) { return l != ',' && std::count(left.begin(), left.end(), l) == 1; });
    std::sort(c.out.begin(), c.out.end());
  }
  for (const Labels& labels : {c.out, c.in.front(), c.in.back()}) {
    for (const char l : labels) {
      if (!std::isalpha(static_cast<unsigned char>(l)))
        fail(Error::Kind::usage, "[einsum] '{}': '{}' is not a letter", spec, l);
      if (std::count(labels.begin(), labels.end(), l) > 1)
        fail(Error::Kind::unsupported, "[einsum] '{}': label {} occurs twice in one operand", spec, l);
    }
  }
  for (const char l : c.out) {
    if (!has(left, l))
      fail(Error::Kind::usage, "[einsum] '{}': label {} of the result is in no operand", spec, l);
  }
  return c;
}

Tensor ordered(const Tensor& x, const Labels& from, const Labels& to, Where where) {
  if (from == to) return x;
  std::vector<int> axes;
  axes.reserve(to.size());
  for (const char l : to) axes.push_back(static_cast<int>(from.find(l)));
  return permute(x, axes, where);
}

// Sums away the labels of x that `keep` does not name.
Tensor reduced(const Tensor& x, Labels& labels, const Labels& keep, Where where) {
  Axes axes;
  Labels left;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (has(keep, labels[i]))
      left += labels[i];
    else
      axes.push_back(static_cast<int>(i));
  }
  labels = left;
  return axes.empty() ? x : sum(x, axes, {}, where);
}

std::int64_t extent(const Tensor& x, const Labels& of, const Labels& labels) {
  std::int64_t n = 1;
  for (const char l : labels) n *= x.size(static_cast<int>(of.find(l)));
  return n;
}

}  // namespace

OpList matmul_ops() {
  static const Op* const list[] = {&matmul_op};
  return list;
}

Tensor matmul(const Tensor& a, const Tensor& b, Where where) {
  const Called called("matmul", where);
  if (a.rank() == 0 || b.rank() == 0)
    fail(Error::Kind::usage, "[matmul] {} x {}: a scalar has no axes to multiply over", to_string(a.shape()),
         to_string(b.shape()));
  if (a.rank() == 1) return squeeze(matmul(unsqueeze(a, 0, where), b, where), b.rank() == 1 ? 0 : -2, where);
  if (b.rank() == 1) return squeeze(matmul(a, unsqueeze(b, 1, where), where), -1, where);
  return apply1(matmul_op, {a, b}, {}, where);
}

Tensor einsum(const std::string& spec, const Tensors& operands, Where where) {
  const Called called("einsum", where);
  if (operands.empty() || operands.size() > 2)
    fail(Error::Kind::unsupported, "[einsum] {} operands; it takes one or two", operands.size());
  Contraction c = parse_einsum(spec, operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (static_cast<int>(c.in[i].size()) != operands[i].rank())
      fail(Error::Kind::usage, "[einsum] '{}': {} labels vs operand {} of shape {}", spec, c.in[i].size(), i,
           to_string(operands[i].shape()));
  }
  if (operands.size() == 1) {
    const Tensor x = reduced(operands[0], c.in[0], c.out, where);
    return ordered(x, c.in[0], c.out, where);
  }
  Labels &la = c.in[0], &lb = c.in[1];
  for (const char l : la) {
    if (has(lb, l) &&
        operands[0].size(static_cast<int>(la.find(l))) != operands[1].size(static_cast<int>(lb.find(l))))
      fail(Error::Kind::usage, "[einsum] '{}': label {} is {} vs {}", spec, l,
           operands[0].size(static_cast<int>(la.find(l))), operands[1].size(static_cast<int>(lb.find(l))));
  }
  Tensor a = reduced(operands[0], la, lb + c.out, where);
  Tensor b = reduced(operands[1], lb, la + c.out, where);
  Labels batch, left, inner, right;
  for (const char l : la) (has(lb, l) ? (has(c.out, l) ? batch : inner) : left) += l;
  for (const char l : lb) {
    if (!has(la, l)) right += l;
  }
  std::vector<std::int64_t> sizes;
  for (const char l : batch) sizes.push_back(extent(a, la, Labels(1, l)));
  const auto grouped = [&](const Tensor& x, const Labels& of, const Labels& rows, const Labels& columns) {
    Tensor y = ordered(x, of, batch + rows + columns, where);
    if (rows.size() == 1 && columns.size() == 1) return y;
    std::vector<std::int64_t> shape = sizes;
    shape.insert(shape.end(), {extent(x, of, rows), extent(x, of, columns)});
    return reshape(y, shape, where);
  };
  Tensor y = matmul(grouped(a, la, left, inner), grouped(b, lb, inner, right), where);
  if (left.size() != 1 || right.size() != 1) {
    for (const char l : left) sizes.push_back(extent(a, la, Labels(1, l)));
    for (const char l : right) sizes.push_back(extent(b, lb, Labels(1, l)));
    y = reshape(y, sizes, where);
  }
  return ordered(y, batch + left + right, c.out, where);
}

}  // namespace tidemark
