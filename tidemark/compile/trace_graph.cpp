// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/trace_graph.h"

#include <algorithm>
#include <optional>

#include "tidemark/compile/trace_classes.h"
#include "tidemark/front/eager.h"
#include "tidemark/ir/builder.h"
#include "tidemark/ir/passes.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/gather.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/scan_axis.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

using tape::Code;
using tape::Ref;
using tape::Trace;
using Places = std::vector<std::uint32_t>;

// Places begin + r rows_apart + c step, for r below rows and c below columns.
struct Box {
  std::int64_t begin = 0, rows = 1, rows_apart = 0, columns = 1, step = 0;
};
std::optional<Box> box_of(const Places& p, std::int64_t rows, std::int64_t columns) {
  const auto at = [&](std::int64_t i) { return static_cast<std::int64_t>(p[static_cast<std::size_t>(i)]); };
  Box b{.begin = at(0), .rows = rows, .columns = columns};
  if (columns > 1) b.step = at(1) - at(0);
  if (rows > 1) b.rows_apart = at(columns) - at(0);
  if (b.step < 0 || b.rows_apart < 0) return std::nullopt;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      if (at(r * columns + c) != b.begin + r * b.rows_apart + c * b.step) return std::nullopt;
  return b;
}
// How many columns the places seem to have: as far as the first step goes on.
std::int64_t columns_of(const Places& p) {
  std::size_t n = 1;
  while (n < p.size() && p[n] - p[n - 1] == p[1] - p[0]) ++n;
  return static_cast<std::int64_t>(n);
}

class Roller {
 public:
  Roller(const Trace& trace, const TraceGraphOptions& options)
      : trace_(trace), options_(options), c_(classify(trace)), builder_(Builder::make()) {}

  TraceGraph run() {
    if (static_cast<std::int64_t>(c_.classes.size()) > options_.max_nodes)
      fail(Error::Kind::unsupported,
           "[graph_of] {} operations that do not repeat vs at most {}; leave the step to the tape",
           c_.classes.size(), options_.max_nodes);
    for (const Trace::Input& i : trace_.inputs)
      arrays_.push_back(builder_->input({Shape({i.count}), real_}, i.name));
    for (std::size_t i = trace_.inputs.size(); i < c_.classes.size(); ++i)
      arrays_.push_back(made(c_.classes[i]));
    Tensors outputs;
    for (const Trace::Output& o : trace_.outputs) outputs.push_back(assembled(o.numbers, real_));
    outputs.push_back(failing_guards());
    TraceGraph result;
    result.graph = dce(cse(builder_->finish(outputs)));
    result.tables = builder_->captures();
    return result;
  }

 private:
  // Something of the builder's, to make constants beside.
  Tensor beside() const { return arrays_.front(); }
  Tensor flat(const Tensor& x) const { return x.rank() == 1 ? x : reshape(x, {x.numel()}); }
  const Tensor& array_of(Ref r) const { return arrays_[static_cast<std::size_t>(c_.class_of[r.index()])]; }

  Tensor made(const TraceClass& one) {
    if (one.fold >= 0) return folded(c_.folds[static_cast<std::size_t>(one.fold)]);
    const Trace::Node& first = trace_.nodes[one.members[0]];
    const auto n = static_cast<std::int64_t>(one.members.size());
    // Rows and columns, where some operand has them.
    std::int64_t rows = 1, columns = n;
    std::vector<Places> places(first.count);
    for (std::size_t k = 0; k < first.count; ++k) {
      if (first.in[k].is_constant()) continue;
      for (const std::uint32_t m : one.members)
        places[k].push_back(c_.place_of[trace_.nodes[m].in[k].index()]);
      if (rows > 1) continue;
      const Tensor& of = array_of(first.in[k]);
      const std::int64_t wide = of.rank() == 2 && of.numel() == n ? of.size(1) : columns_of(places[k]);
      if (wide > 1 && wide < n && n % wide == 0 && box_of(places[k], n / wide, wide)) {
        rows = n / wide;
        columns = wide;
      }
    }
    std::vector<Operand> in;
    for (std::size_t k = 0; k < first.count; ++k) {
      if (first.in[k].is_constant())
        in.push_back(constants(one.members, k, rows, columns));
      else
        in.emplace_back(read(c_.class_of[first.in[k].index()], places[k], rows, columns));
    }
    Tensor y = applied(first.code, in);
    // All operands stood still: one number, that all members are.
    const std::vector<std::int64_t> sizes = rows > 1 ? std::vector{rows, columns} : std::vector{n};
    return y.numel() == n ? reshape_to(y, sizes) : broadcast_to(y, Shape(sizes));
  }
  static Tensor reshape_to(const Tensor& x, const std::vector<std::int64_t>& sizes) {
    return x.shape().sizes() == sizes ? x : reshape(x, sizes);
  }

  // Numbers of the trace.
  Tensor table(const std::vector<double>& values, const Shape& shape) const {
    if (!trace_.single) return tensor(values, shape);
    return tensor(std::vector<float>(values.begin(), values.end()), shape);
  }
  Operand constants(const std::vector<std::uint32_t>& members, std::size_t k, std::int64_t rows,
                    std::int64_t columns) {
    std::vector<double> values;
    bool same = true;
    for (const std::uint32_t m : members) {
      const Ref r = trace_.nodes[m].in[k];
      same = same && r == trace_.nodes[members[0]].in[k];
      values.push_back(trace_.constants[r.index()]);
    }
    if (same) return {values[0]};
    return {rows > 1 ? table(values, {rows, columns}) : table(values, {columns})};
  }

  // How many operations make an element again from stored arrays; 0: it is stored itself. What costs a few is made again by everyone who reads
  // it, from neighbours as well, and never lies in memory.
  int cost_of(std::int32_t cls) {
    if (costs_.empty()) costs_.assign(c_.classes.size(), -1);
    int& known = costs_[static_cast<std::size_t>(cls)];
    if (known >= 0) return known;
    const TraceClass& one = c_.classes[static_cast<std::size_t>(cls)];
    int cost = 0;
    if (one.input < 0 && one.fold < 0 && is_cheap(one.code)) {
      const Trace::Node& n = trace_.nodes[one.members[0]];
      cost = 1;
      for (std::size_t k = 0; k < n.count; ++k)
        if (!n.in[k].is_constant()) cost += cost_of(c_.class_of[n.in[k].index()]);
      if (cost > (is_truth(one.code) ? kCheapTruth : kCheap)) cost = 0;
    }
    return costs_[static_cast<std::size_t>(cls)] = cost;
  }
  static bool is_cheap(Code code) {
    return code == Code::add || code == Code::sub || code == Code::mul || code == Code::neg ||
           code == Code::fabs || code >= Code::less;
  }
  static bool is_truth(Code code) { return code >= Code::less && code != Code::select; }
  Tensor read(std::int32_t cls, const Places& places, std::int64_t rows, std::int64_t columns) {
    const TraceClass& one = c_.classes[static_cast<std::size_t>(cls)];
    if (cost_of(cls) == 0) return part(arrays_[static_cast<std::size_t>(cls)], places, rows, columns);
    std::vector<std::uint32_t> members;
    for (const std::uint32_t p : places) members.push_back(one.members[p]);
    const Trace::Node& first = trace_.nodes[members[0]];
    std::vector<Operand> in;
    for (std::size_t k = 0; k < first.count; ++k) {
      if (first.in[k].is_constant()) {
        in.push_back(constants(members, k, rows, columns));
        continue;
      }
      Places of;
      for (const std::uint32_t m : members) of.push_back(c_.place_of[trace_.nodes[m].in[k].index()]);
      in.emplace_back(read(c_.class_of[first.in[k].index()], of, rows, columns));
    }
    return applied(one.code, in);
  }

  // The elements at these places of an array, in a shape that goes with (rows, columns): a view where strides can say it.
  Tensor part(const Tensor& array, const Places& places, std::int64_t rows, std::int64_t columns) {
    const std::int64_t n = array.numel();
    if (const auto b = box_of(places, rows, columns)) {
      if (b->rows == 1 || b->rows_apart == 0) return line(flat(array), b->begin, b->columns, b->step);
      if (b->step == 0) return reshape(line(flat(array), b->begin, b->rows, b->rows_apart), {b->rows, 1});
      if (b->begin == 0 && b->step == 1 && b->rows_apart == columns && n == rows * columns)
        return reshape_to(array, {rows, columns});
      const std::int64_t apart = b->rows_apart, column = b->begin % apart;
      if (n % apart == 0 && column + (columns - 1) * b->step < apart) {
        Tensor x = reshape_to(array, {n / apart, apart});
        if (n / apart != rows) x = slice(x, 0, b->begin / apart, b->begin / apart + rows);
        const std::int64_t end = column + (columns - 1) * b->step + 1;
        return column == 0 && end == apart && b->step == 1 ? x : slice(x, 1, column, end, b->step);
      }
    }
    const std::vector<std::int64_t> indices(places.begin(), places.end());
    const Tensor taken =
        index_select(flat(array), tensor(indices, {static_cast<std::int64_t>(indices.size())}), 0);
    return rows > 1 ? reshape(taken, {rows, columns}) : taken;
  }
  static Tensor line(const Tensor& x, std::int64_t begin, std::int64_t n, std::int64_t step) {
    if (n == 1 || step == 0) return x.numel() == 1 ? x : slice(x, 0, begin, begin + 1);
    if (begin == 0 && step == 1 && x.numel() == n) return x;
    return slice(x, 0, begin, begin + (n - 1) * step + 1, step);
  }

  Tensor applied(Code code, const std::vector<Operand>& in) const {
    switch (code) {
      case Code::add:
        return in[0] + in[1];
      case Code::sub:
        return in[0] - in[1];
      case Code::mul:
        return in[0] * in[1];
      case Code::div:
        return in[0] / in[1];
      case Code::pow:
        return pow(in[0], in[1]);
      case Code::neg:
        return -in[0].tensor;
      case Code::fabs:
        return abs(in[0].tensor);
      case Code::sqrt:
        return sqrt(in[0].tensor);
      case Code::exp:
        return exp(in[0].tensor);
      case Code::expm1:
        return expm1(in[0].tensor);
      case Code::log:
        return log(in[0].tensor);
      case Code::log1p:
        return log1p(in[0].tensor);
      case Code::sin:
        return sin(in[0].tensor);
      case Code::cos:
        return cos(in[0].tensor);
      case Code::tan:
        return tan(in[0].tensor);
      case Code::tanh:
        return tanh(in[0].tensor);
      case Code::erf:
        return erf(in[0].tensor);
      case Code::sigmoid:
        return sigmoid(in[0].tensor);
      case Code::less:
        return in[0] < in[1];
      case Code::less_equal:
        return in[0] <= in[1];
      case Code::equal:
        return equal(in[0], in[1]);
      case Code::logical_and:
        return logical_and(in[0].tensor, in[1].tensor);
      case Code::logical_or:
        return logical_or(in[0].tensor, in[1].tensor);
      case Code::logical_not:
        return logical_not(in[0].tensor);
      case Code::select:
        return where(in[0].tensor, number(in[1]), number(in[2]));
      case Code::input:
        break;
    }
    fail(Error::Kind::internal, "[graph_of] an operation that a graph has no name for");
  }
  // Of two numbers, `where` cannot tell the type.
  Operand number(const Operand& x) const {
    return x.is_number ? Operand(full_beside(beside(), {Shape({1}), real_}, x.number)) : x;
  }

  // The last of the running sums, which are made one after the other.
  Tensor folded(const TraceFold& fold) {
    std::vector<Ref> all{fold.first};
    all.insert(all.end(), fold.terms.begin(), fold.terms.end());
    const Tensor terms = assembled(all, real_),
                 sums = trace_.single ? cumsum_rounded(terms, 0) : cumsum(terms, 0);
    return slice(sums, 0, sums.numel() - 1, sums.numel());
  }

  // Numbers from anywhere, one behind the other: pieces of arrays, or, where these are many and small, by index from all of them.
  Tensor assembled(const std::vector<Ref>& refs, DType dtype) {
    Tensors pieces;
    for (std::size_t from = 0; from < refs.size();) {
      const std::size_t to = piece_end(refs, from);
      pieces.push_back(piece(refs, from, to, dtype));
      if (pieces.size() > 8 + refs.size() / 64) return gathered(refs, dtype);
      from = to;
    }
    return pieces.size() == 1 ? pieces[0] : concat(pieces, 0);
  }
  std::int64_t source_of(Ref r) const { return r.is_constant() ? -1 : c_.class_of[r.index()]; }
  std::size_t piece_end(const std::vector<Ref>& refs, std::size_t from) const {
    std::size_t to = from + 1;
    const auto place = [&](std::size_t i) { return static_cast<std::int64_t>(c_.place_of[refs[i].index()]); };
    while (to < refs.size() && source_of(refs[to]) == source_of(refs[from])) {
      if (!refs[from].is_constant() && to > from + 1 &&
          place(to) - place(to - 1) != place(from + 1) - place(from))
        break;
      if (!refs[from].is_constant() && to == from + 1 && place(to) == place(from)) break;
      ++to;
    }
    return to;
  }
  Tensor piece(const std::vector<Ref>& refs, std::size_t from, std::size_t to, DType dtype) {
    const auto n = static_cast<std::int64_t>(to - from);
    if (refs[from].is_constant()) {
      std::vector<double> values;
      for (std::size_t i = from; i < to; ++i) values.push_back(trace_.constants[refs[i].index()]);
      const bool same =
          std::all_of(refs.begin() + static_cast<std::ptrdiff_t>(from),
                      refs.begin() + static_cast<std::ptrdiff_t>(to), [&](Ref r) { return r == refs[from]; });
      return same ? full_beside(beside(), {Shape({n}), dtype}, values[0]) : table(values, {n});
    }
    Places places;
    for (std::size_t i = from; i < to; ++i) places.push_back(c_.place_of[refs[i].index()]);
    if (n > 1 && places[1] < places[0]) {  // as a sweep adds up
      std::reverse(places.begin(), places.end());
      return flip(part(array_of(refs[from]), places, 1, n), 0);
    }
    return part(array_of(refs[from]), places, 1, n);
  }
  Tensor gathered(const std::vector<Ref>& refs, DType dtype) {
    std::vector<std::int64_t> begin(c_.classes.size() + 1, -1), indices;
    Tensors sources;
    std::int64_t end = 0;
    std::vector<double> values;
    std::int64_t constants_begin = 0;
    for (const Ref r : refs) {
      if (r.is_constant()) {
        values.push_back(trace_.constants[r.index()]);
        continue;
      }
      auto& at = begin[static_cast<std::size_t>(c_.class_of[r.index()])];
      if (at >= 0) continue;
      at = end;
      sources.push_back(flat(array_of(r)));
      end += sources.back().numel();
    }
    if (!values.empty()) {
      constants_begin = end;
      sources.push_back(table(values, {static_cast<std::int64_t>(values.size())}));
    }
    for (const Ref r : refs)
      indices.push_back(r.is_constant() ? constants_begin++
                                        : begin[static_cast<std::size_t>(c_.class_of[r.index()])] +
                                              static_cast<std::int64_t>(c_.place_of[r.index()]));
    static_cast<void>(dtype);
    const Tensor all = sources.size() == 1 ? sources[0] : concat(sources, 0);
    return index_select(all, tensor(indices, {static_cast<std::int64_t>(indices.size())}), 0);
  }

  Tensor failing_guards() {
    Tensor failing = full_beside(beside(), {Shape(std::vector<std::int64_t>{}), DType::f64}, 0);
    for (const bool expected : {true, false}) {
      std::vector<Ref> refs;
      for (const Trace::Guard& g : trace_.guards)
        if (g.expected == expected) refs.push_back(g.truth);
      if (refs.empty()) continue;
      std::sort(refs.begin(), refs.end(), [&](Ref a, Ref b) {
        return std::pair(source_of(a), c_.place_of[a.index()]) <
               std::pair(source_of(b), c_.place_of[b.index()]);
      });
      const Tensor truths = assembled(refs, DType::boolean);
      const auto constant = [&](double v) { return full_beside(beside(), {Shape({1}), DType::f64}, v); };
      failing = failing + sum(where(truths, constant(expected ? 0 : 1), constant(expected ? 1 : 0)));
    }
    return failing;
  }

  const Trace& trace_;
  const DType real_ = trace_.single ? DType::f32 : DType::f64;
  const TraceGraphOptions& options_;
  TraceClasses c_;
  std::shared_ptr<Builder> builder_;
  Tensors arrays_;          // by class
  std::vector<int> costs_;  // by class; -1: not looked at yet
  // Truth values in memory cost loops their vectors.
  static constexpr int kCheap = 4, kCheapTruth = 8;
};

}  // namespace

TraceGraph graph_of(const tape::Trace& trace, const TraceGraphOptions& options) {
  if (trace.inputs.empty()) fail(Error::Kind::usage, "[graph_of] a trace without inputs");
  return Roller(trace, options).run();
}

}  // namespace tidemark
